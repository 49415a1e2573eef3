"""The Fréchet distance between the Gaussians fitted to two sets of embeddings (FAD)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.result import FloatArray
from otadtk.distances.validate import as_points, check_pair
from otadtk.errors import UsageError

_CHUNK = 4096
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
    (mean_1, factor_1), (mean_2, factor_2) = _moments(x_), _moments(y_)
    shift = mean_1 - mean_2
    # tr Σ = ‖A‖²_F, tr (Σ₁Σ₂)^½ = ‖AᵀB‖_*
    traces = float(np.square(factor_1).sum() + np.square(factor_2).sum())
    product = torch.from_numpy(factor_1.T @ factor_2)
    overlap = nuclear_norm(product, direct=min(product.shape) <= _SINGULAR_VALUES_UP_TO)
    return max(0.0, float(shift @ shift) + traces - 2.0 * overlap)


def _moments(points: Tensor) -> tuple[FloatArray, FloatArray]:
    """(μ, a factor A of shape (d, r) with A Aᵀ = Σ and the smaller r of samples and dimensions)."""
    array = points.cpu().numpy()
    n, d = array.shape
    mean: FloatArray = array.mean(axis=0, dtype=np.float64)
    scale = 1.0 / np.sqrt(n - 1.0)
    if n <= d:
        return mean, np.asarray(((array - mean) * scale).T)
    covariance = np.zeros((d, d))
    for start in range(0, n, _CHUNK):  # no float64 copy of all the data
        part = (array[start : start + _CHUNK] - mean) * scale
        covariance += part.T @ part  # numpy does half the work of XᵀX
    lower, info = torch.linalg.cholesky_ex(torch.from_numpy(covariance))
    if int(info) == 0:
        return mean, np.asarray(lower.numpy())
    values, vectors = torch.linalg.eigh(torch.from_numpy(covariance))  # a direction of no spread
    return mean, np.asarray((vectors * values.clamp(min=0.0).sqrt()).numpy())


def nuclear_norm(matrix: Tensor, *, direct: bool) -> float:
    """Σ of the singular values: computed directly, or faster from a Gram matrix, exact to 1e-8 each."""
    if direct:
        return float(torch.linalg.svdvals(matrix).sum())
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    squares = torch.linalg.eigvalsh(wide @ wide.T)
    return float(squares.clamp(min=0.0).sqrt().sum())
