"""The Fréchet distance between the Gaussians fitted to two sets of embeddings (FAD)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.validate import as_points, check_pair
from otadtk.errors import UsageError

_SINGULAR_VALUES_UP_TO = 1000
"""Side up to which singular values are taken directly; beyond it, from a Gram matrix."""


def frechet_distance(x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> float:
    """‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁Σ₂)^½) with unbiased covariances, in float64 (Eq. 5).

    No matrix square root is taken. With factors Σ₁ = A Aᵀ and Σ₂ = B Bᵀ, tr (Σ₁Σ₂)^½ is the sum
    of the singular values of Aᵀ B. A factor is the centred data itself where there are fewer
    samples than dimensions, else a Cholesky factor.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 4))
    >>> round(frechet_distance(x, x + 0.5), 6)
    1.0
    """
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    for name, points in (("x", x_), ("y", y_)):
        if len(points) < 2:
            raise UsageError(f"{name} has one sample: a covariance needs two at least.")
    first, second = _centred(x_), _centred(y_)
    shift = x_.double().mean(dim=0).cpu().numpy() - y_.double().mean(dim=0).cpu().numpy()
    factor_1, factor_2 = _factor(first), _factor(second)
    # tr Σ = ‖A‖²_F
    traces = float(np.square(first).sum() + np.square(second).sum())
    overlap = _nuclear_norm(factor_1.T @ factor_2)
    return max(0.0, float(shift @ shift) + traces - 2.0 * overlap)


def _centred(points: Tensor) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """(x − μ)/sqrt(n − 1), so that Σ is its Gram matrix."""
    array = points.cpu().double().numpy()
    centred = array - array.mean(axis=0)
    return np.asarray(centred / np.sqrt(len(array) - 1.0))


def _factor(
    centred: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """A (d, r) with A Aᵀ = Σ and the smallest r at hand."""
    n, d = centred.shape
    if n <= d:
        return np.asarray(centred.T)
    covariance = torch.from_numpy(centred.T @ centred)  # numpy halves the work of XᵀX
    lower, info = torch.linalg.cholesky_ex(covariance)
    if int(info) == 0:
        return np.asarray(lower.numpy())
    values, vectors = torch.linalg.eigh(covariance)  # a direction without any spread
    return np.asarray((vectors * values.clamp(min=0.0).sqrt()).numpy())


def _nuclear_norm(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Σ of the singular values."""
    if min(matrix.shape) <= _SINGULAR_VALUES_UP_TO:
        return float(torch.linalg.svdvals(torch.from_numpy(matrix)).sum())
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    squares = torch.linalg.eigvalsh(torch.from_numpy(wide @ wide.T))
    return float(squares.clamp(min=0.0).sqrt().sum())
