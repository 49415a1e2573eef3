"""Measures the cost of exchanging the vectors of a sweep between processes.

A part of scale.py. A sweep is one pass of Sinkhorn over all costs between N and N points, none of
which is kept: by one thread of this process, and by two Ray workers. With few points the exchange is
almost the whole cost.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.distributed.gibbs import DistributedKernel
from otadtk.distances.transport.dense.gibbs import GibbsKernel, PanelKernel
from otadtk.engine import RayEngine

DIMENSION, EPSILON = 128, 25.0
FEW, MANY = 500, 10_000
ROOM = 10**9


def exchange() -> dict[str, Any]:
    """Seconds of a sweep in every setting."""
    torch.set_num_threads(1)
    with RayEngine(num_actors=2) as ray:
        few, many = cost_of(FEW), cost_of(MANY)
        return {
            "few": sweep_seconds(DistributedKernel(ray, few, EPSILON, 0), 20),
            "here": sweep_seconds(PanelKernel(many, EPSILON, 0), 3),
            "spread": sweep_seconds(DistributedKernel(ray, many, EPSILON, 0), 3),
            "kept": sweep_seconds(DistributedKernel(ray, many, EPSILON, ROOM), 3),
        }


def cost_of(count: int) -> SquaredCost:
    """The cost between two clouds of this many points each."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(count, DIMENSION, generator=generator) for _ in range(2))
    return SquaredCost(x, y, torch.float32)


def sweep_seconds(kernel: GibbsKernel, times: int) -> float:
    """The median time of a sweep after a warm-up sweep."""
    n, m = kernel.cost.shape
    a, v = torch.full((n,), 1.0 / n).double(), torch.ones(m).double()
    kernel.sweep(a, v)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        kernel.sweep(a, v)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def describe(found: dict[str, Any]) -> list[str]:
    """The results as the text of the document."""
    return [
        "### A sweep of the distributed OTAD",
        "",
        f"{MANY:,} against {MANY:,} points, d = {DIMENSION}:",
        "",
        "| where | s |",
        "|---|---|",
        f"| one thread, no costs kept | {found['here']:.2f} |",
        f"| two Ray workers, no costs kept | {found['spread']:.2f} |",
        f"| two Ray workers that keep all costs | {found['kept']:.2f} |",
        "",
        f"The exchange alone, at {FEW} points, takes {1e3 * found['few']:.0f} ms per sweep.",
    ]
