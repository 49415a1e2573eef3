"""Sets of index pairs (i, j) on which a sharp plan lives, with their costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.protocol import Cost

IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class Support:
    """Index pairs in row-major order without repetition, as i·M + j, and the costs there."""

    linear: IndexArray
    costs: FloatArray
    width: int
    """M."""

    @property
    def rows(self) -> IndexArray:
        """Row of every pair."""
        return self.linear // self.width

    @property
    def columns(self) -> IndexArray:
        """Column of every pair."""
        return self.linear % self.width

    def __len__(self) -> int:
        return len(self.linear)

    def joined(self, other: Support) -> Support:
        """The union; where both have a pair, the costs of ``other`` count."""
        linear = np.concatenate([other.linear, self.linear])
        unique, first = np.unique(linear, return_index=True)
        return Support(unique, np.concatenate([other.costs, self.costs])[first], self.width)

    def chosen(self, mask: NDArray[np.bool_]) -> Support:
        """The pairs where the mask holds."""
        return Support(self.linear[mask], self.costs[mask], self.width)

    def with_exact_costs(self, cost: Cost, known: Support | None = None) -> Support:
        """The same pairs, costs from differences instead of matrix products, or as known."""
        costs = np.empty(len(self))
        missing = np.ones(len(self), dtype=bool)
        if known is not None and len(known):
            position = np.minimum(np.searchsorted(known.linear, self.linear), len(known) - 1)
            found = known.linear[position] == self.linear
            costs[found], missing = known.costs[position[found]], ~found
        rows = torch.from_numpy(self.rows[missing]).to(cost.device)
        columns = torch.from_numpy(self.columns[missing]).to(cost.device)
        costs[missing] = cost.entries(rows, columns).cpu().double().numpy()
        return Support(self.linear, costs, self.width)


def group_sums(groups: IndexArray, values: FloatArray, count: int) -> FloatArray:
    """Σ of the values of each group 0 … count − 1."""
    return np.asarray(np.bincount(groups, values, count), dtype=np.float64)


class PairList:
    """Pairs and a number of each, as a pass over all pairs finds them, in two arrays that grow.

    Small tensors that stay between the large ones of a pass would keep the heap from being used again.
    """

    def __init__(self) -> None:
        self._linear, self._values = np.empty(1 << 16, dtype=np.int64), np.empty(1 << 16)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, linear: Tensor, values: Tensor) -> None:
        """Further pairs."""
        end = self._count + len(linear)
        if end > len(self._linear):  # moved by the system, page by page, without a second copy
            self._linear.resize(max(end, 2 * len(self._linear)), refcheck=False)
            self._values.resize(len(self._linear), refcheck=False)
        self._linear[self._count : end] = linear.cpu().numpy()
        self._values[self._count : end] = values.cpu().numpy()
        self._count = end

    def arrays(self) -> tuple[IndexArray, FloatArray]:
        """(the pairs, their numbers); it is the end of the list."""
        self._linear.resize(self._count, refcheck=False)
        self._values.resize(self._count, refcheck=False)
        return self._linear, self._values


def near_pairs(panels: Panels, f: Tensor, g: Tensor, reach: float, limit: int) -> Support | None:
    """All pairs with C − f ⊕ g < reach, at the precision of the panels; None beyond the limit."""
    m = panels.cost.shape[1]
    found = PairList()
    for rows, reduced in panels.reduced(f, g):
        flat = (reduced < reach).view(-1).nonzero()[:, 0]
        if len(found) + len(flat) > limit:
            return None
        costs = reduced.view(-1)[flat].to(f.dtype)
        costs += f[rows][flat // m] + g[flat % m]
        found.add(flat + rows.start * m, costs)
    linear, costs_found = found.arrays()
    return Support(linear, costs_found, m)
