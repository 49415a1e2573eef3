"""The polynomial-kernel distance between two sets (KID): an unbiased squared MMD.

k(x, y) = (⟨x, y⟩ / d + 1)³, as for images (Bińkowski et al., Demystifying MMD GANs, ICLR 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import IndexArray
from otadtk.distances.costs.pool import fits_memory
from otadtk.distances.costs.squared import row_tiles
from otadtk.distances.validate import as_points, check_pair, check_seed
from otadtk.errors import UsageError

DEGREE = 3


@dataclass(frozen=True)
class SubsetDraws:
    """Random subsets of both sets, drawn as torch-fidelity draws them."""

    subsets: int
    size: int
    seed: int = 2020


@dataclass(frozen=True)
class PolynomialDistance:
    """The squared MMD; over subsets their mean and standard deviation."""

    value: float
    deviation: float | None = None
    size: int | None = None
    """Points in each subset."""


def polynomial_distance(
    x: ArrayLike | Tensor, y: ArrayLike | Tensor, draws: SubsetDraws | None = None
) -> PolynomialDistance:
    """Σ_{i≠j} k_xx/(n(n−1)) + Σ_{i≠j} k_yy/(m(m−1)) − 2 mean k_xy; may be negative.

    Without ``draws`` it is taken once, of all points. Subsets larger than a set are as large as the
    smaller set.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> polynomial_distance(x, x + 1.0).value > 0.1
    True
    """
    first, second = (as_points(side, name).cpu().double() for side, name in ((x, "x"), (y, "y")))
    check_pair(first, second)
    if draws is None:
        return PolynomialDistance(_squared_mmd(first, second))
    size = min(draws.size, len(first), len(second))
    random = np.random.RandomState(check_seed(draws.seed) % 2**32)
    values = []
    distance = polynomial_between(torch.cat([first, second]))  # kernels are computed once
    for _ in range(draws.subsets):
        # the second set is drawn from first: the tools take the evaluated set as their first
        j = random.choice(len(second), size, replace=False)
        i = random.choice(len(first), size, replace=False)
        values.append(distance(i, len(first) + j))
    return PolynomialDistance(float(np.mean(values)), float(np.std(values)), size)


def polynomial_between(
    points: ArrayLike | Tensor, *, max_memory: int | None = None
) -> Callable[[IndexArray, IndexArray], float]:
    """The distance of all points between subsets of the pool, given by their indices."""
    pool = as_points(points, "points").cpu().double()
    if not fits_memory(len(pool), max_memory, item=8):
        return lambda i, j: _squared_mmd(pool[i], pool[j])
    kernel = _kernel(pool, pool)
    own = kernel.diagonal()

    def distance(i: IndexArray, j: IndexArray) -> float:
        drawn = torch.zeros(len(pool), 2, dtype=torch.float64)
        for column, side in enumerate((i, j)):
            rows = torch.from_numpy(np.asarray(side))
            drawn[:, column].index_add_(0, rows, torch.ones(len(rows), dtype=torch.float64))
        # a point that was drawn twice is not compared with itself
        sums = drawn.T @ kernel @ drawn
        diagonals = drawn.T @ own
        return _unbiased(
            float(sums[0, 0] - diagonals[0]),
            float(sums[1, 1] - diagonals[1]),
            float(sums[0, 1]),
            len(i),
            len(j),
        )

    return distance


def _squared_mmd(x: Tensor, y: Tensor) -> float:
    return _unbiased(_sum(x, x), _sum(y, y), _sum(x, y), len(x), len(y))


def _unbiased(within_x: float, within_y: float, across: float, n: int, m: int) -> float:
    if min(n, m) < 2:
        raise UsageError("A polynomial-kernel distance needs at least two samples a side.")
    return within_x / (n * (n - 1)) + within_y / (m * (m - 1)) - 2.0 * across / (n * m)


def _sum(x: Tensor, y: Tensor) -> float:
    """Σ k over all pairs; of a set with itself, without the pairs of a point with itself."""
    total = sum(float(_kernel(x[part], y).sum()) for part in row_tiles(len(x), len(y)))
    if x is y:
        total -= float((x.square().sum(dim=1) / x.shape[1] + 1.0).pow(DEGREE).sum())
    return total


def _kernel(x: Tensor, y: Tensor) -> Tensor:
    return (x @ y.T).div_(x.shape[1]).add_(1.0).pow_(DEGREE)
