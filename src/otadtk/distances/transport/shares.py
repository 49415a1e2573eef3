"""Reads columns of a plan: from whom an evaluated sample gets its mass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.duplicates import MergedCloud
from otadtk.distances.costs.protocol import accumulator
from otadtk.distances.costs.squared import SquaredCost, row_tiles
from otadtk.distances.transport.sparse.support import IndexArray


class PlanShares(Protocol):
    """A plan of which a few columns at a time are computed; nothing of size N×M is held."""

    def __call__(self, j: int) -> FloatArray:
        """T_ij / Σ_i T_ij for every reference sample i: shares that sum to one."""

    def tiles(self) -> Iterator[tuple[slice, Tensor]]:
        """All columns as tiles: which evaluated samples, and their shares ``(N, so many)``."""


def charged(shares: PlanShares, x: Tensor, y: Tensor) -> FloatArray:
    """What each evaluated sample costs by the plan, charged between other points of the samples.

    c_j = 1/M Σ_i share_ij ‖x_i − y_j‖²; with the points that the plan was made for it is Eq. 7.
    """
    cost = SquaredCost(x, y)
    found = [
        (part * cost.tile(slice(0, len(x)), columns.start, columns.stop)).sum(dim=0)
        for columns, part in shares.tiles()
    ]
    costs: FloatArray = torch.cat(found).cpu().double().numpy() / len(y)
    return costs


@dataclass(frozen=True, eq=False)
class EntropicShares:
    """Columns of T_ij = a_i b_j exp((f_i + g_j − C_ij)/ε): of column j only f and C_·j matter."""

    x: Tensor
    y: Tensor
    weights: Tensor
    f: FloatArray
    epsilon: float

    def __call__(self, j: int) -> FloatArray:
        """Σ-normalised column ``j``, in O(N d)."""
        wide = accumulator(self.x.device)
        exponent = torch.from_numpy(self.f).to(self.x.device, wide) / self.epsilon
        exponent += self.weights.to(self.x.device, wide).log()
        for rows in row_tiles(*self.x.shape):
            squares = (self.x[rows] - self.y[j]).square_().sum(dim=1, dtype=wide)
            exponent[rows] -= squares / self.epsilon
        shares: FloatArray = torch.softmax(exponent, dim=0).cpu().double().numpy()
        return shares

    def tiles(self) -> Iterator[tuple[slice, Tensor]]:
        """Σ-normalised columns."""
        cost = SquaredCost(self.x, self.y)
        height = torch.from_numpy(self.f).to(cost.device, cost.wide) / self.epsilon
        height += self.weights.to(cost.device, cost.wide).log()
        for columns in row_tiles(len(self.y), len(self.x)):
            tile = cost.tile(slice(0, len(self.x)), columns.start, columns.stop)
            yield columns, torch.softmax(height[:, None] - tile / self.epsilon, dim=0)


@dataclass(frozen=True, eq=False)
class SparseShares:
    """Columns of a plan between merged clouds that is known by its few entries i·M + j."""

    x: MergedCloud
    y: MergedCloud
    basis: IndexArray
    mass: FloatArray

    def __call__(self, j: int) -> FloatArray:
        """Σ-normalised column ``j``; a merged reference shares out among its samples."""
        width = len(self.y.points)
        mine = self.basis % width == int(self.y.index[j])
        column = np.zeros(len(self.x.points))
        column[self.basis[mine] // width] = self.mass[mine]
        return self.x.divide(column / column.sum())

    def tiles(self) -> Iterator[tuple[slice, Tensor]]:
        """Σ-normalised columns."""
        for columns in row_tiles(len(self.y.index), len(self.x.index)):
            found = [self(j) for j in range(columns.start, columns.stop)]
            yield columns, torch.from_numpy(np.stack(found, axis=1))
