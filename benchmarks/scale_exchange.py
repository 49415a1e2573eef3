"""Measures what it costs that processes exchange the vectors of a sweep.

A part of scale.py. A sweep is one pass of Sinkhorn over all costs between N and N points, none of
which is kept, by one thread of this process and by two workers of Ray; at few points hardly anything
is left but the exchange.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from otadtk.distances.cost import SquaredCost
from otadtk.distances.gibbs import GibbsKernel, Kernel
from otadtk.distances.spread import SpreadKernel
from otadtk.engine import RayEngine

DIMENSION, EPSILON = 128, 25.0
FEW, MANY = 500, 10_000
ROOM = 10**9


def exchange() -> dict[str, Any]:
    """Seconds of a sweep by every way."""
    torch.set_num_threads(1)
    with RayEngine(num_actors=2) as ray:
        few, many = cost_of(FEW), cost_of(MANY)
        return {
            "few": sweep_seconds(SpreadKernel(ray, few, EPSILON, 0), 20),
            "here": sweep_seconds(GibbsKernel(many, EPSILON, 0), 3),
            "spread": sweep_seconds(SpreadKernel(ray, many, EPSILON, 0), 3),
            "kept": sweep_seconds(SpreadKernel(ray, many, EPSILON, ROOM), 3),
        }


def cost_of(count: int) -> SquaredCost:
    """The cost between two clouds of so many points each."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(count, DIMENSION, generator=generator) for _ in range(2))
    return SquaredCost(x, y, torch.float32)


def sweep_seconds(kernel: Kernel, times: int) -> float:
    """The median time of a sweep, after the first, which builds what there is to build."""
    n, m = kernel.cost.shape
    a, v = torch.full((n,), 1.0 / n).double(), torch.ones(m).double()
    kernel.sweep(a, v)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        kernel.sweep(a, v)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def told(found: dict[str, Any]) -> list[str]:
    """What was measured, as the document says it."""
    return [
        f"A sweep over {MANY:,} against {MANY:,} points, d = {DIMENSION}, of which nothing is kept: "
        f"{found['here']:.2f} s by one thread here, {found['spread']:.2f} s by two workers of Ray, "
        f"{found['kept']:.2f} s if they have room to keep it all. The exchange alone, at {FEW} points: "
        f"{1e3 * found['few']:.0f} ms a sweep.",
    ]
