"""Merges identical points: a cloud with repetitions is a smaller cloud with larger weights.

Digital silence gives the same embedding again and again. KL(T | a ⊗ b) does not change when
equal points are merged, so the merged problem has the same value and the same potentials, and a
merged point's cost is divided among its members by weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray


@dataclass(frozen=True)
class MergedCloud:
    """Distinct points, their weights, and for each original sample which point it became."""

    points: Tensor
    weights: Tensor
    index: Tensor
    fraction: Tensor
    """Weight of each original sample as a fraction of its point's weight."""

    def divide(self, costs: FloatArray) -> FloatArray:
        """Costs of the points, divided among the original samples by weight."""
        divided: FloatArray = costs[self.index.numpy()] * self.fraction.numpy()
        return divided

    def repeat(self, potential: FloatArray) -> FloatArray:
        """A potential of the points, repeated for the original samples."""
        repeated: FloatArray = potential[self.index.numpy()]
        return repeated


def merge_duplicates(points: Tensor, weights: Tensor) -> MergedCloud:
    """The cloud without repetitions; order of first occurrence is kept."""
    count = len(points)
    everyone = torch.arange(count)
    unmerged = MergedCloud(points, weights, everyone, torch.ones(count, dtype=torch.float64))
    if count == 1:
        return unmerged
    # equal rows have equal projections: sort one number a row, compare neighbours in full
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(points.shape[1], generator=generator, dtype=points.dtype)
    projection = (points * direction.to(points.device)).sum(dim=1).cpu()
    order = torch.argsort(projection, stable=True)
    near = torch.nonzero(projection[order][1:] == projection[order][:-1])[:, 0]
    equal = torch.zeros(count, dtype=torch.bool)
    same = points[order[near + 1].to(points.device)] == points[order[near].to(points.device)]
    equal[near + 1] = same.all(dim=1).cpu()
    if not bool(equal.any()):
        return unmerged
    group_in_order = torch.cumsum(~equal, dim=0) - 1
    group = torch.empty_like(group_in_order)
    group[order] = group_in_order
    groups = int(group_in_order[-1]) + 1
    first = torch.full((groups,), count, dtype=torch.int64)
    first.scatter_reduce_(0, group, everyone, reduce="amin")
    rank = torch.argsort(torch.argsort(first))  # groups numbered by first occurrence
    index = rank[group]
    merged = torch.zeros(groups, dtype=torch.float64).index_add_(0, index, weights)
    representatives = points[torch.sort(first).values.to(points.device)]
    return MergedCloud(representatives, merged, index, weights / merged[index])
