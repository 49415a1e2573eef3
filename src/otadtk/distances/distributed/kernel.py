"""KAD over an engine: workers compute sums and counts over tiles of the distances.

Up to 16,384 points a side the tiles, and so the value, are those of ``kernel_distance`` to the last
bit. Beyond, tiles are cut in width too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from otadtk.distances.costs.median import MARGIN, SAMPLE, bracket, order_statistic
from otadtk.distances.costs.pairs import TILE, hide_lower
from otadtk.distances.costs.squared import SquaredCost, row_tiles
from otadtk.distances.kernel import (
    BandwidthRule,
    KernelDistance,
    KernelName,
    check_kernel,
    kernel_distance_by,
    kernel_total,
)
from otadtk.distances.validate import as_points
from otadtk.engine import Engine

_WIDEST = 1 << 14
_WIDTH = 1 << 13
_TASK = 1 << 25
"""Pairs of one task: some seconds of one core."""
_VALUES = 1 << 22
"""Distances that the driver takes in to find a median among them."""
_BINS = 1 << 14
_RESOLUTION = 1e-7
"""Of float32: a finer bracket of the median says nothing."""

Arrays = tuple[NDArray[np.floating], ...]
R = TypeVar("R")


def kernel_distance_over(
    engine: Engine,
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    bandwidth: float | BandwidthRule = "eval",
    kernel: KernelName = "gaussian",
    scale: bool = True,
) -> KernelDistance:
    """``kernel_distance`` by an engine."""
    x_, y_ = as_points(x, "x").cpu(), as_points(y, "y").cpu()
    check_kernel(x_, y_, kernel)
    return kernel_distance_by(
        {"ref": TiledPairs(engine, x_), "eval": TiledPairs(engine, y_)},
        TiledPairs(engine, x_, y_),
        lambda: TiledPairs(engine, torch.cat([x_, y_])),
        bandwidth,
        kernel,
        scale,
    )


class TiledPairs:
    """The pairs within a cloud, or between two, of which workers measure the tiles."""

    def __init__(self, engine: Engine, x: Tensor, y: Tensor | None = None) -> None:
        self._engine, self._x, self._y = engine, x, y
        self.count = len(x) * (len(x) - 1) // 2 if y is None else len(x) * len(y)

    def kernel_sum(self, kernel: KernelName, gamma: float) -> float:
        """Σ k over the pairs, added tile after tile."""
        measure = partial(_kernel_totals, kernel, gamma)
        return sum(value for part in self._measure(measure, "kernel") for value in part)

    def median(self) -> float:
        """The lower median of the distances.

        A bracket around it is narrowed by counting in bins until few enough distances are inside;
        the answer is an order statistic of these.
        """
        cost, rank = self._cost(), (self.count + 1) // 2
        margin = MARGIN if cost.shape[0] > SAMPLE else 1.0
        low, high = bracket(cost, margin)
        inside = int(min(1.0, 2.0 * margin) * self.count)
        anywhere = 0.0, 4.01 * float(cost.x_squared.max())  # ‖x − y‖ ≤ ‖x‖ + ‖y‖
        if inside > _VALUES and not math.isfinite(high):
            low, high = anywhere
        while True:
            if inside <= _VALUES:
                parts = self._measure(partial(_inside, low, high), "median")
                below = sum(part[0] for part in parts)
                values = torch.from_numpy(np.concatenate([part[1] for part in parts]))
                if below < rank <= below + len(values):
                    return math.sqrt(order_statistic(values, rank - below))
                (low, high), inside = anywhere, self.count
                continue
            counted = self._measure(partial(_histogram, low, high), "median")
            below = sum(part[0] for part in counted)
            bins = np.sum([part[1] for part in counted], axis=0)
            if not below < rank <= below + int(bins.sum()):
                low, high = anywhere
                continue
            middle = int(np.searchsorted(np.cumsum(bins), rank - below))
            step = (high - low) / _BINS
            if step <= _RESOLUTION * high:
                return math.sqrt(low + (middle + 0.5) * step)
            # a bin more on either side: the edges are rounded
            low, high = low + (middle - 1) * step, low + (middle + 2) * step
            inside = int(bins[max(0, middle - 1) : middle + 2].sum())

    def _cost(self) -> SquaredCost:
        return SquaredCost(self._x, self._x if self._y is None else self._y, torch.float32)

    def _measure(self, measure: Callable[[Iterator[Tensor]], R], title: str) -> list[R]:
        """What a measure says of the tiles of each task, in their order."""
        cost = self._cost()
        rows, columns = cost.shape
        slices = row_tiles(rows, columns if columns <= _WIDEST else _WIDTH, TILE)
        together = max(1, _TASK // (len(range(rows)[slices[0]]) * columns))
        tasks = [slices[i : i + together] for i in range(0, len(slices), together)]
        return self._engine.map(partial(_measuring, cost.arrays(), measure), tasks, title=title)


def _measuring(
    arrays: Arrays, measure: Callable[[Iterator[Tensor]], R]
) -> Callable[[list[slice]], R]:
    cost = SquaredCost.from_arrays(arrays)
    return lambda slices: measure(_tiles(cost, slices))


def _tiles(cost: SquaredCost, slices: list[slice]) -> Iterator[Tensor]:
    """The tiles of some rows; within a cloud, with infinity where i ≥ j."""
    columns = cost.shape[1]
    width = columns if columns <= _WIDEST else _WIDTH
    for rows in slices:
        start = rows.start if cost.symmetric else 0
        for first in range(start, columns, width):
            tile = cost.tile(rows, first, first + width)
            if cost.symmetric and first == start:
                hide_lower(tile)
            yield tile


def _kernel_totals(kernel: KernelName, gamma: float, tiles: Iterator[Tensor]) -> list[float]:
    return [kernel_total(tile, kernel, gamma) for tile in tiles]


def _inside(low: float, high: float, tiles: Iterator[Tensor]) -> tuple[int, NDArray[np.float32]]:
    """(pairs with d² < low, the d² of those in [low, high])."""
    below, inside = 0, []
    for tile in tiles:
        below += int(torch.count_nonzero(tile < low))
        inside.append(tile[(tile >= low) & (tile <= high) & (tile < torch.inf)].numpy())
    return below, np.concatenate(inside)


def _histogram(low: float, high: float, tiles: Iterator[Tensor]) -> tuple[int, NDArray[np.int64]]:
    """(pairs with d² < low, how many of those in [low, high] lie in each bin)."""
    below, bins = 0, torch.zeros(_BINS, dtype=torch.int64)
    scale = _BINS / (high - low) if high > low else 0.0
    for tile in tiles:
        below += int(torch.count_nonzero(tile < low))
        inside = tile[(tile >= low) & (tile <= high)]
        numbers = inside.sub_(low).mul_(scale).long().clamp_(max=_BINS - 1)
        bins += torch.bincount(numbers, minlength=_BINS)
    return below, bins.numpy()
