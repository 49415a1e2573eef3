"""A pool of points and the costs between any two subsets of it, from one matrix.

A floor, an interval or a comparison needs a distance hundreds of times, each time between other
subsets of the same few clips. Their costs are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import IndexArray
from otadtk.distances.costs.duplicates import merge_duplicates
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.rounding import Rounding
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.memory import DEFAULT_MEMORY


class Pool:
    """C between all points of a pool, in one matrix; with ``merge``, equal points are one."""

    def __init__(
        self, points: Tensor, dtype: torch.dtype = torch.float32, *, merge: bool = True
    ) -> None:
        self._distinct = np.arange(len(points))
        if merge:
            uniform = torch.full((len(points),), 1.0 / len(points), dtype=torch.float64)
            merged = merge_duplicates(points, uniform)
            self._distinct, points = merged.index.numpy(), merged.points
        cost = SquaredCost(points, points, dtype)
        self.squared_norms = cost.x_squared
        self.matrix = cost.tile(slice(0, len(points)))
        self.matrix.fill_diagonal_(0.0)
        self.rounding = cost.rounding().rows
        """What each point adds to the error of its costs."""

    def subset(self, chosen: IndexArray) -> tuple[Tensor, Tensor]:
        """(the distinct points of a subset, their weights): a point drawn twice weighs twice."""
        distinct, counts = np.unique(self._distinct[chosen], return_counts=True)
        weights = torch.from_numpy(counts / len(chosen))
        return torch.from_numpy(distinct).to(self.matrix.device), weights

    def weights(self, subsets: Sequence[IndexArray]) -> Tensor:
        """The weight of every distinct point in each subset, a row each."""
        out = torch.zeros((len(subsets), len(self.matrix)), dtype=torch.float64)
        for row, chosen in zip(out.numpy(), subsets, strict=True):
            row += np.bincount(self._distinct[chosen], minlength=len(row)) / len(chosen)
        return out

    def every(self, chosen: IndexArray) -> Tensor:
        """The points of a subset, each as often as it was drawn."""
        return torch.from_numpy(self._distinct[chosen]).to(self.matrix.device)

    def cost(self, rows: Tensor, columns: Tensor) -> PooledCost:
        """The costs between two subsets; of one with itself if they are the same object."""
        block = self.matrix.index_select(0, rows).index_select(1, columns)
        return PooledCost(self, rows, columns, block)


@final
class PooledCost(Cost):
    """The costs between two subsets of a pool: a block of the pool's matrix."""

    def __init__(self, pool: Pool, rows: Tensor, columns: Tensor, block: Tensor) -> None:
        self._pool, self._rows, self._columns = pool, rows, columns
        self.dtype, self._block = block.dtype, block

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return len(self._rows), len(self._columns)

    @property
    def device(self) -> torch.device:
        """Where the pool lies."""
        return self._block.device

    @property
    def symmetric(self) -> bool:
        """Whether this is the cost of a subset with itself."""
        return self._rows is self._columns

    def tile(
        self, rows: slice, first: int = 0, last: int | None = None, buffer: Tensor | None = None
    ) -> Tensor:
        """C[rows, first:last], a fresh tensor: a pool is too small to need the buffer."""
        return self._block[rows, first:last].clone()

    def entries(self, rows: Tensor, columns: Tensor) -> Tensor:
        """C at the given index pairs, as exact as the pool's matrix is."""
        return self._block[rows, columns].to(self.wide)

    def transposed(self) -> PooledCost:
        """The same costs with the roles of the subsets exchanged."""
        return PooledCost(self._pool, self._columns, self._rows, self._block.T)

    def restricted(self, rows: Tensor, columns: Tensor | None = None) -> PooledCost:
        """The costs between the chosen points of the first subset and those of the second, or all."""
        block = self._block.index_select(0, rows)
        if columns is None:
            return PooledCost(self._pool, self._rows[rows], self._columns, block)
        block = block.index_select(1, columns)
        return PooledCost(self._pool, self._rows[rows], self._columns[columns], block)

    def widened(self) -> PooledCost:
        """The costs as they are: wider floats do not make them more exact."""
        return self

    def largest(self) -> float:
        """A bound by the norms of the points: ‖x − y‖² ≤ (‖x‖ + ‖y‖)²."""
        norms = (float(self._pool.squared_norms[s].max()) for s in (self._rows, self._columns))
        return sum(math.sqrt(norm) for norm in norms) ** 2

    def rounding(self) -> Rounding:
        """Bounds of the error of the entries, as found for the whole pool."""
        sides = (side.cpu().numpy() for side in (self._rows, self._columns))
        return Rounding(*(self._pool.rounding[side] for side in sides))

    def entry_rounding(self) -> Rounding:
        """That of the matrix."""
        return self.rounding()

    def mean(self, a: Tensor, b: Tensor) -> float:
        """Σ a_i b_j C_ij."""
        a, b = (weights.to(self.device, self.dtype) for weights in (a, b))
        return float(a @ self._block @ b)


def fits_memory(count: int, max_memory: int | None = None, item: int = 4) -> bool:
    """Whether the matrix of a pool may be held: half of the memory, as blocks need some too."""
    limit = DEFAULT_MEMORY if max_memory is None else max_memory
    return count * count * item <= limit // 2
