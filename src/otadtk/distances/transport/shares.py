"""Reads single columns of a plan: from whom an evaluated sample gets its mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.duplicates import MergedCloud
from otadtk.distances.costs.protocol import accumulator
from otadtk.distances.costs.squared import row_tiles
from otadtk.distances.transport.sparse.support import IndexArray


class PlanShares(Protocol):
    """A plan of which one column at a time is computed; nothing of size N×M is held."""

    def __call__(self, j: int) -> FloatArray:
        """T_ij / Σ_i T_ij for every reference sample i: shares that sum to one."""


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
