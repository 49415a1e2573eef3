"""Which regime a problem is in, smooth or sharp, by C/ε: step 1 of the ladder.

What happens when that was the wrong one is decided in ``solve.py``.
"""

from __future__ import annotations

import math
from typing import Literal

import torch

from otadtk.distances.costs.protocol import Cost

Regime = Literal["smooth", "sharp"]

SMOOTH_LIMIT = 50.0
"""Median C/ε up to which kernel sweeps with Anderson mixing are the faster way."""

SPARSE_DENSITY = 0.05
"""Fraction of a self kernel above e^−(25 + 2 log N) up to which it is truncated."""


def sharpness(cost: Cost, epsilon: float) -> float:
    """Median C/ε over a sample: a dozen is smooth, a thousand is nearly an assignment."""
    return cost.median(256) / epsilon


def choose_cross(cost: Cost, epsilon: float) -> Regime:
    """How to couple two different clouds."""
    return "smooth" if sharpness(cost, epsilon) <= SMOOTH_LIMIT else "sharp"


def self_reach(n: int) -> float:
    """C/ε beyond which the pairs of a cloud with itself weigh less than e^−25 together."""
    return 25.0 + 2.0 * math.log(max(n, 1))


def choose_self(cost: Cost, epsilon: float, reach: float) -> Regime:
    """How to couple a cloud with itself: sharp if few costs are below ``reach``·ε."""
    n, _ = cost.shape
    rows, columns = (
        torch.linspace(0, n - 1, min(n, side), device=cost.device).long() for side in (256, 512)
    )
    near = cost.restricted(rows, columns).tile(slice(0, len(rows))) < reach * epsilon
    density = int(near.count_nonzero()) / near.numel()
    return "sharp" if density <= SPARSE_DENSITY else "smooth"
