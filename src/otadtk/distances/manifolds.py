"""Precision, recall, density and coverage: which points lie in the other set's manifold.

The manifold of a set is the union of balls around its points, each up to the k-th nearest
neighbour in the set. Precision and recall are those of Kynkäänniemi et al. (NeurIPS 2019), density
and coverage those of Naeem et al. (ICML 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from otadtk.distances.arrays import IndexArray
from otadtk.distances.costs.pool import Pool, fits_memory
from otadtk.distances.costs.squared import SquaredCost, row_tiles, working_dtype
from otadtk.distances.validate import as_points, check_pair
from otadtk.errors import UsageError

VALUES = ("precision", "recall", "density", "coverage")
_ROUNDINGS = 8.0
"""A point nearer to the edge of a ball than so many roundings of the squared norms lies on it."""

Squared = Callable[[slice], Tensor]
"""Rows of a matrix of squared distances."""


@dataclass(frozen=True)
class Manifolds:
    """The four numbers, and which points lie inside the other set's manifold."""

    precision: float
    recall: float
    density: float
    coverage: float
    evaluated_inside: NDArray[np.bool_]
    """Evaluated points in the manifold of the reference: their share is the precision."""
    reference_inside: NDArray[np.bool_]
    """Reference points in the manifold of the evaluated set: their share is the recall."""


def manifolds(
    reference: ArrayLike | Tensor, evaluated: ArrayLike | Tensor, neighbours: int = 5
) -> Manifolds:
    """Precision, recall, density and coverage of ``(n, d)`` and ``(m, d)``, tile by tile.

    A point on the edge of a ball is outside, as in the package prdc. So a set with more than k
    copies of one point has balls without extent.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> found = manifolds(x, x)
    >>> found.precision, found.recall, found.coverage
    (1.0, 1.0, 1.0)
    """
    x, y = as_points(reference, "x"), as_points(evaluated, "y")
    check_pair(x, y)
    most = max(len(x), len(y))
    dtype = working_dtype(most, most, x.shape[1], x.device)
    x, y = x.to(dtype), y.to(dtype)  # before anything is rounded: copies lie on edges
    within_x, within_y = (_within(SquaredCost(side, side)) for side in (x, y))
    return _manifolds(within_x, within_y, _between(SquaredCost(x, y)), len(x), len(y), neighbours)


def manifolds_between(
    points: ArrayLike | Tensor,
    neighbours: int,
    which: str,
    *,
    max_memory: int | None = None,
) -> Callable[[IndexArray, IndexArray], float]:
    """One of the four numbers between subsets of the pool, given by their indices."""
    pool = as_points(points, "points")
    if not fits_memory(len(pool), max_memory, item=8):
        return lambda i, j: float(getattr(manifolds(pool[i], pool[j], neighbours), which))
    costs = Pool(pool.double(), torch.float64, merge=False)
    within, norms = costs.matrix, costs.squared_norms
    between = within + _slack(norms, norms, torch.float64)

    def block(matrix: Tensor, rows: IndexArray, columns: IndexArray) -> Squared:
        chosen = matrix[torch.from_numpy(rows)][:, torch.from_numpy(columns)]
        return lambda part: chosen[part]

    def distance(i: IndexArray, j: IndexArray) -> float:
        parts = block(within, i, i), block(within, j, j), block(between, i, j)
        return float(getattr(_manifolds(*parts, len(i), len(j), neighbours), which))

    return distance


def _within(cost: SquaredCost) -> Squared:
    return lambda part: cost.tile(part)


def _between(cost: SquaredCost) -> Squared:
    """Squared distances with their rounding on top, so that a point on an edge is not inside."""

    def rows(part: slice) -> Tensor:
        return cost.tile(part) + _slack(cost.x_squared[part], cost.y_squared, cost.dtype)

    return rows


def _slack(x_squared: Tensor, y_squared: Tensor, dtype: torch.dtype) -> Tensor:
    norms = x_squared[:, None] + y_squared[None, :]
    return (_ROUNDINGS * torch.finfo(dtype).eps * norms).to(dtype)


def _manifolds(
    within_x: Squared, within_y: Squared, between: Squared, n: int, m: int, neighbours: int
) -> Manifolds:
    radii_x = _radii(within_x, n, neighbours, "reference")
    radii_y = _radii(within_y, m, neighbours, "evaluated")
    balls = torch.zeros(m, dtype=torch.int64, device=radii_x.device)
    recalled, covered = [], []
    for part in row_tiles(n, m):
        squared = between(part)
        in_ball = squared < radii_x[part, None]
        balls += in_ball.sum(dim=0)
        covered.append(in_ball.any(dim=1))  # the nearest evaluated point is in the ball
        recalled.append((squared < radii_y[None, :]).any(dim=1))
    inside = balls > 0
    reference_inside = torch.cat(recalled)
    return Manifolds(
        precision=float(inside.double().mean()),
        recall=float(reference_inside.double().mean()),
        density=float(balls.double().mean()) / neighbours,
        coverage=float(torch.cat(covered).double().mean()),
        evaluated_inside=inside.cpu().numpy(),
        reference_inside=reference_inside.cpu().numpy(),
    )


def _radii(within: Squared, count: int, neighbours: int, side: str) -> Tensor:
    """The squared distance of every point to its k-th nearest neighbour."""
    if neighbours < 1:
        raise UsageError(f"The number of neighbours must be at least 1, not {neighbours}.")
    if count <= neighbours:
        raise UsageError(
            f"{neighbours} nearest neighbours need at least {neighbours + 1} clips; the {side} set "
            f"has {count}."
        )
    radii = []
    for part in row_tiles(count, count):
        squared = within(part).clone()
        own = torch.arange(part.start, part.stop, device=squared.device)
        squared[own - part.start, own] = 0.0  # a point is its own first neighbour
        radii.append(squared.kthvalue(neighbours + 1, dim=1).values)
    return torch.cat(radii)
