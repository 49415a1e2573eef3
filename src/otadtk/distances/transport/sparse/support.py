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


def near_pairs(panels: Panels, f: Tensor, g: Tensor, reach: float, limit: int) -> Support | None:
    """All pairs with C − f ⊕ g < reach, at the precision of the panels; None beyond the limit."""
    m = panels.cost.shape[1]
    linear: list[Tensor] = []
    costs: list[Tensor] = []
    count = 0
    for rows, reduced in panels.reduced(f, g):
        flat = (reduced < reach).view(-1).nonzero()[:, 0]
        count += len(flat)
        if count > limit:
            return None
        linear.append(flat + rows.start * m)
        costs.append(reduced.view(-1)[flat])
    found = torch.cat(linear)
    values = torch.cat(costs).to(f.dtype) + f[found // m] + g[found % m]
    return Support(found.cpu().numpy(), values.cpu().double().numpy(), m)
