"""The one place that decides how a problem is solved, from C/ε, its size and the memory."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from otadtk.distances.cost import TILE_ELEMENTS, SquaredCost

Regime = Literal["smooth", "sharp"]

SMOOTH_LIMIT = 50.0
"""Median C/ε up to which kernel sweeps with Anderson mixing are the faster way."""

SPARSE_DENSITY = 0.05
"""Share of a self kernel above e^−(25 + log N) up to which it is truncated."""

_DEFAULT_CAP = 1_820_000_000
"""Bytes kept by default at most: N = 20,000 fits, and beyond it streaming costs little more."""

_SPARSE_BYTES_A_POINT = 14_000
"""What a sharp plan takes beside the costs: some sixty pairs a point, in indices and copies."""


@dataclass(frozen=True)
class Budget:
    """How much may be kept, and what the peak above the inputs will be."""

    kept_bytes: int
    """For the entries of N×M that stay in memory."""
    sharp_kept_bytes: int
    """The same beside a sparse plan, which needs its own part."""
    wide_kept_bytes: int
    """The same for entries in float64, where the plan needs them."""
    forecast_bytes: int
    streaming: bool


def default_memory() -> int:
    """A quarter of the memory that can be had, 1.8 GB at most."""
    return min(available_memory() // 4, _DEFAULT_CAP)


def available_memory() -> int:
    """Bytes that can be had without swapping, or plenty where the system does not tell."""
    try:
        table = Path("/proc/meminfo").read_text()
        # not the free pages alone: files that were read fill them, and give way
        return 1024 * int(table.partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return 4 * _DEFAULT_CAP


def plan_memory(n: int, m: int, d: int, item: int, max_memory: int | None) -> Budget:
    """The budget of the largest of the three problems: N×M kept if it fits, tiles if not."""
    limit = default_memory() if max_memory is None else max_memory
    points = 2 * (n + m) * d * item  # centred copies
    scratch = 6 * TILE_ELEMENTS * item
    wanted, room = n * m * item, limit - points - scratch
    kept = max(0, min(wanted, room))
    sharp = max(0, min(wanted, room - _SPARSE_BYTES_A_POINT * (n + m)))
    wide = max(0, min(8 * n * m, room - points))
    return Budget(kept, sharp, wide, points + scratch + kept, kept < wanted)


@dataclass(frozen=True)
class Forecast:
    """What a run will take, before it starts: good to a factor of two or so."""

    seconds: float
    bytes: int
    streaming: bool


def forecast(n: int, m: int, d: int, *, max_memory: int | None = None) -> Forecast:
    """Time and memory of a full divergence on a quiet machine, from a matrix product timed here.

    A dense run computes every cost once and reads the kernel some fifty times; a streaming run
    computes the costs anew in every sweep, some thirty times for the three terms together.
    """
    rows, columns = min(n, 256), min(m, 2048)
    left, right = torch.rand(rows, d), torch.rand(d, columns)
    torch.exp(left @ right)
    started = time.process_time()  # of this process: others may use the machine just now
    for _ in range(3):
        torch.exp(left @ right)
    a_pair = (time.process_time() - started) / (3 * rows * columns * torch.get_num_threads())
    budget = plan_memory(n, m, d, 4, max_memory)
    pairs = n * m + 0.5 * (n * n + m * m)
    read = 5e-10 * pairs  # a pass over kept panels, at a few GB/s
    seconds = 30.0 * a_pair * pairs if budget.streaming else 2.0 * a_pair * pairs + 50.0 * read
    return Forecast(seconds, budget.forecast_bytes, budget.streaming)


def sharpness(cost: SquaredCost, epsilon: float) -> float:
    """Median C/ε over a sample: a dozen is smooth, a thousand is nearly an assignment."""
    return cost.median(256) / epsilon


def choose_cross(cost: SquaredCost, epsilon: float) -> Regime:
    """How to couple two different clouds."""
    return "smooth" if sharpness(cost, epsilon) <= SMOOTH_LIMIT else "sharp"


def self_reach(n: int) -> float:
    """C/ε beyond which the pairs of a cloud with itself weigh less than e^−25 together."""
    return 25.0 + 2.0 * math.log(max(n, 1))


def choose_self(cost: SquaredCost, epsilon: float, reach: float) -> Regime:
    """How to couple a cloud with itself: sharp if few costs are below ``reach``·ε."""
    n, _ = cost.shape
    rows = torch.linspace(0, n - 1, min(n, 256), device=cost.device).long()
    sample = cost.restricted(rows, torch.arange(n, device=cost.device))
    near = sample.tile(slice(0, len(rows))) < reach * epsilon
    return "sharp" if float(near.double().mean()) <= SPARSE_DENSITY else "smooth"
