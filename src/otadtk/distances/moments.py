"""The moments of a set of points: how many there are, their mean and their covariance.

They are all that the Fréchet distance needs. The moments of shards merge into those of the whole
set, so a large set need not be in one place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.validate import as_points
from otadtk.errors import UsageError

_CHUNK = 1024
"""Rows that are centred in float64 at a time."""
_BLOCK = 64
"""Side of the blocks in which a triangle is mirrored."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean μ and unbiased covariance Σ (divided by count − 1) of a set, in float64.

    Σ is held as a matrix, or, where there are no more samples than dimensions, as a ``factor`` A
    with A Aᵀ = Σ, which is smaller: exactly one of the two is given.
    """

    count: int | None
    """How many samples; None where a file gives only the mean and the covariance."""
    mean: FloatArray
    """μ, of shape (d,)."""
    covariance: FloatArray | None = None
    """Σ, symmetric, of shape (d, d)."""
    factor: FloatArray | None = None
    """A, of shape (d, r)."""

    def __post_init__(self) -> None:
        d = len(self.mean)
        if (self.covariance is None) == (self.factor is None):
            raise UsageError("Moments need a covariance or a factor of it, and not both.")
        if self.covariance is not None and self.covariance.shape != (d, d):
            raise UsageError(f"A mean of {d} numbers needs a covariance of shape ({d}, {d}).")
        if self.factor is not None and self.factor.shape[0] != d:
            raise UsageError(f"A mean of {d} numbers needs a factor of {d} rows.")

    @property
    def dimension(self) -> int:
        """The number of dimensions d."""
        return len(self.mean)

    @property
    def trace(self) -> float:
        """The trace of Σ."""
        if self.covariance is not None:
            return float(np.trace(self.covariance))
        assert self.factor is not None
        return float(np.square(self.factor).sum())

    def full_covariance(self) -> FloatArray:
        """Σ as a matrix, whichever way it is held."""
        if self.covariance is not None:
            return self.covariance
        assert self.factor is not None
        product: FloatArray = self.factor @ self.factor.T
        return product


def moments(points: ArrayLike | Tensor, name: str = "points") -> Moments:
    """The moments of an (N, d) set; ``name`` is what an error calls it.

    >>> found = moments([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    >>> found.count, found.mean.tolist(), found.covariance.tolist()
    (3, [1.0, 1.0], [[1.0, 0.0], [0.0, 3.0]])
    """
    array = as_points(points, name).cpu().numpy()
    n, d = array.shape
    mean: FloatArray = array.mean(axis=0, dtype=np.float64)
    if n > d:
        return Moments(n, mean, covariance=_covariance(array, mean))
    # of one sample: zeros, with which a merge is right
    factor: FloatArray = ((array - mean) / np.sqrt(max(n - 1.0, 1.0))).T
    return Moments(n, mean, factor=factor)


def merge(first: Moments, second: Moments) -> Moments:
    """The moments of both sets together; large numbers are never subtracted from each other.

    With δ = μ₂ − μ₁ and n = n₁ + n₂ (Chan, Golub and LeVeque):
    μ = μ₁ + δ n₂/n,  (n − 1) Σ = (n₁ − 1) Σ₁ + (n₂ − 1) Σ₂ + δδᵀ n₁n₂/n.
    """
    if first.count is None or second.count is None:
        raise UsageError("Moments of an unknown number of samples cannot be merged.")
    if first.dimension != second.dimension:
        raise UsageError(f"The sets differ in dimension: {first.dimension} and {second.dimension}.")
    count, shift = first.count + second.count, second.mean - first.mean
    mean = first.mean + shift * (second.count / count)
    weights = (first.count - 1) / (count - 1), (second.count - 1) / (count - 1)
    between = first.count * second.count / (count * (count - 1))
    if first.factor is not None and second.factor is not None:
        parts = (
            np.sqrt(weights[0]) * first.factor,
            np.sqrt(weights[1]) * second.factor,
            np.sqrt(between) * shift[:, None],
        )
        if sum(part.shape[1] for part in parts) <= first.dimension:
            return Moments(count, mean, factor=np.concatenate(parts, axis=1))
    covariance = weights[0] * first.full_covariance()
    covariance += weights[1] * second.full_covariance()
    covariance += np.outer(shift, between * shift)
    return Moments(count, mean, covariance=covariance)


def _covariance(array: FloatArray, mean: FloatArray) -> FloatArray:
    """Σ by symmetric updates: half the work, and no float64 copy of all the data."""
    n, d = array.shape
    covariance: FloatArray = np.zeros((d, d), order="F")
    buffer = np.empty((min(n, _CHUNK), d))
    for start in range(0, n, _CHUNK):
        part = array[start : start + _CHUNK]
        centred = np.subtract(part, mean, out=buffer[: len(part)])
        from scipy.linalg.blas import dsyrk  # slow to import, and transport needs none of it

        covariance = dsyrk(
            1.0 / (n - 1.0), centred.T, beta=1.0, c=covariance, lower=1, overwrite_c=1
        )
    _mirror_lower(covariance)
    return covariance


def _mirror_lower(matrix: FloatArray) -> None:
    """Copies the lower triangle to the upper one, in place and in blocks."""
    for start in range(0, len(matrix), _BLOCK):
        block = slice(start, start + _BLOCK)
        corner = np.tril(matrix[block, block])
        matrix[block, block] = corner + np.tril(corner, -1).T
        matrix[block, start + _BLOCK :] = matrix[start + _BLOCK :, block].T
