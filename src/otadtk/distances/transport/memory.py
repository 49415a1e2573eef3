"""How much of N×M costs is kept in memory, and what a run will take.

The caller hands in how many bytes may be used; nothing here asks the machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from otadtk.distances.costs.squared import LEAST_ROWS, TILE_ELEMENTS
from otadtk.errors import UsageError

DEFAULT_MEMORY = 1_820_000_000
"""Bytes above the inputs where the caller names none: N = 20,000 fits in float32, and beyond it
streaming costs little more."""

_SPARSE_BYTES_A_POINT = 14_000
"""What a sharp plan takes beside the costs: some sixty pairs a point, in indices and copies."""


_PAIR_BYTES = 150
"""Of a pair of a sparse plan, with all copies that a Newton step makes."""
_HOPELESS, _ALWAYS = 4.0, 2_000_000_000
"""Multiple of the allowed memory from which a plan is refused; and bytes that are always tried."""


@dataclass(frozen=True)
class MemoryBudget:
    """How much may be kept, and what the peak above the inputs will be."""

    kept_bytes: int
    """For the entries of N×M that stay in memory."""
    sharp_kept_bytes: int
    """The same beside a sparse plan, which needs its own part."""
    wide_kept_bytes: int
    """The same for entries in float64, where the solver needs them."""
    forecast_bytes: int
    """The expected peak above the inputs."""
    streaming: bool
    """Whether not all entries can be kept."""
    limit_bytes: int
    """What the caller allows above the inputs."""

    def check_plan(self, pairs: float, epsilon: float) -> None:
        """A UsageError if a sparse plan of so many pairs, as forecast, is far too large.

        The forecast is good to a factor of two or so; a plan may take more than what is allowed, rather
        than not be found.
        """
        needed = _PAIR_BYTES * pairs
        if needed > max(_HOPELESS * self.limit_bytes, _ALWAYS):
            raise UsageError(
                f"the plan at epsilon = {epsilon:.3g} would take about {needed / 1e9:.1f} GB (some "
                f"{pairs / 1e6:.0f} million pairs), and {self.limit_bytes / 1e9:.1f} GB are allowed; "
                f"take a larger epsilon (--epsilon 3 --epsilon-scale median_cost), fewer clips, or "
                f"--coupling minibatch."
            )


def memory_budget(n: int, m: int, d: int, item: int, max_memory: int | None) -> MemoryBudget:
    """The budget of an N×M problem in d dimensions with entries of ``item`` bytes."""
    limit = DEFAULT_MEMORY if max_memory is None else max_memory
    points = 2 * (n + m) * d * item  # centred copies
    scratch, wanted = max(6 * TILE_ELEMENTS, 2 * LEAST_ROWS * m) * item, n * m * item
    if wanted > limit - points - scratch:
        # every thread computes a panel while one is read; and there is room for as much again
        scratch = max(scratch, 2 * (torch.get_num_threads() + 1) * LEAST_ROWS * m * item)
    room = limit - points - scratch
    kept = max(0, min(wanted, room))
    sharp = max(0, min(wanted, room - _SPARSE_BYTES_A_POINT * (n + m)))
    wide = max(0, min(8 * n * m, room - points))
    return MemoryBudget(kept, sharp, wide, points + scratch + kept, kept < wanted, limit)


@dataclass(frozen=True)
class Forecast:
    """What a run will take, before it starts: good to a factor of two or so."""

    seconds: float
    bytes: int
    streaming: bool


def forecast(n: int, m: int, d: int, *, max_memory: int | None = None) -> Forecast:
    """Time and memory of a full divergence on a quiet machine, from a matrix product timed here.

    A dense run computes every cost once and reads the kernel some fifty times; a streaming run
    computes the costs anew in every sweep, six times or so, of which the last takes longer.
    """
    rows, columns = min(n, 256), min(m, 1024)
    # products below 1: where exp overflows it takes many times as long
    left, right = torch.rand(rows, d).div_(d), torch.rand(d, columns)
    torch.exp(left @ right)
    started = time.process_time()  # of this process: others may use the machine just now
    for _ in range(3):
        torch.exp(left @ right)
    a_pair = (time.process_time() - started) / (3 * rows * columns * torch.get_num_threads())
    budget = memory_budget(n, m, d, 4, max_memory)
    pairs = n * m + 0.5 * (n * n + m * m)
    read = 5e-10 * pairs  # a pass over kept panels, at a few GB/s
    seconds = 8.0 * a_pair * pairs if budget.streaming else 2.0 * a_pair * pairs + 50.0 * read
    return Forecast(seconds, budget.forecast_bytes, budget.streaming)
