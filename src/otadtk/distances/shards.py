"""FAD over an engine: the moments of shards, merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.result import FloatArray
from otadtk.distances.validate import as_points, check_pair
from otadtk.engine import Engine

_SHARD = 8192


@dataclass(frozen=True)
class Moments:
    """How many points, their mean μ and their scatter Σ_i (x_i − μ)(x_i − μ)ᵀ, in float64."""

    count: int
    mean: FloatArray
    scatter: FloatArray

    @staticmethod
    def of(points: NDArray[np.floating]) -> Moments:
        """The moments of some points, centred by their own mean."""
        mean = points.mean(axis=0, dtype=np.float64)
        centred = points - mean
        return Moments(len(points), mean, centred.T @ centred)

    def merged(self, other: Moments) -> Moments:
        """Those of both clouds together; nothing large is subtracted from something large.

        With δ = μ₂ − μ₁: μ = μ₁ + δ n₂/n, S = S₁ + S₂ + δδᵀ n₁n₂/n (Chan, Golub and LeVeque).
        """
        count, shift = self.count + other.count, other.mean - self.mean
        mean = self.mean + shift * (other.count / count)
        between = np.outer(shift, shift * (self.count * other.count / count))
        return Moments(count, mean, self.scatter + other.scatter + between)

    def points(self) -> FloatArray:
        """2 d points with this mean and this unbiased covariance: μ ± √((2d−1)/2) l_k, Σ = Σ l lᵀ."""
        d = len(self.mean)
        values, vectors = np.linalg.eigh(self.scatter / (self.count - 1))
        factor = vectors * np.sqrt(values.clip(min=0.0) * (2 * d - 1) / 2)
        return np.concatenate([self.mean + factor.T, self.mean - factor.T])


def frechet_distance_over(
    engine: Engine, x: ArrayLike | Tensor, y: ArrayLike | Tensor, *, shard: int = _SHARD
) -> float:
    """``frechet_distance``, with the moments of large sets from shards of so many points."""
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    sides = [points.cpu().numpy() for points in (x_, y_)]
    return frechet_distance(*(_condensed(engine, side, shard) for side in sides))


def _condensed(engine: Engine, points: NDArray[np.floating], shard: int) -> NDArray[np.floating]:
    """Few points of the same moments, in place of many."""
    n, d = points.shape
    if n <= max(shard, 2 * d):
        return points
    shards = [slice(start, start + shard) for start in range(0, n, shard)]
    parts = engine.map(partial(_moments_by_shard, points), shards, title="moments")
    return reduce(Moments.merged, parts).points()


def _moments_by_shard(points: NDArray[np.floating]) -> Callable[[slice], Moments]:
    return lambda rows: Moments.of(points[rows])
