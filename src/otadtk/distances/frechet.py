"""The Fréchet distance between the Gaussians fitted to two sets of embeddings (FAD)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, eigvalsh
from scipy.linalg.blas import dsyrk
from torch import Tensor

from otadtk.distances.result import FloatArray
from otadtk.distances.validate import as_points, check_pair
from otadtk.errors import UsageError

_CHUNK = 4096
_DIRECT_UP_TO = 1000
"""Side up to which singular values are taken directly; beyond it, from a Gram matrix."""


def frechet_distance(x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> float:
    """‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁Σ₂)^½) with unbiased covariances, in float64 (Eq. 5).

    No matrix square root is taken. With factors Σ₁ = A Aᵀ and Σ₂ = B Bᵀ, tr (Σ₁Σ₂)^½ is the sum
    of the singular values of Aᵀ B. A factor is the centred data itself where there are fewer
    samples than dimensions, else a Cholesky factor; in many dimensions the eigenvalues of Σ₁Σ₂
    come from one factor alone.

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
    first, second = _Gaussian(x_), _Gaussian(y_)
    shift = first.mean - second.mean
    traces = first.trace + second.trace
    return max(0.0, float(shift @ shift) + traces - 2.0 * _overlap(first, second))


class _Gaussian:
    """The moments of a cloud of more than one sample."""

    def __init__(self, points: Tensor) -> None:
        array = points.cpu().numpy()
        n, d = array.shape
        self.mean: FloatArray = array.mean(axis=0, dtype=np.float64)
        self.covariance: FloatArray | None = None
        """The lower triangle of Σ, where there are more samples than dimensions."""
        if n > d:
            self.covariance = covariance(array, self.mean)
            self.trace = float(np.trace(self.covariance))
        else:
            self._centred: FloatArray = ((array - self.mean) / np.sqrt(n - 1.0)).T
            self.trace = float(np.square(self._centred).sum())

    def factor(self) -> FloatArray:
        """A of shape (d, r) with A Aᵀ = Σ and the smaller r of samples and dimensions."""
        if self.covariance is None:
            return self._centred
        lower, info = torch.linalg.cholesky_ex(torch.from_numpy(self.covariance))
        if int(info) == 0:
            return np.asarray(lower.numpy())
        # a direction of no spread
        values, vectors = torch.linalg.eigh(torch.from_numpy(self.covariance))
        return np.asarray((vectors * values.clamp(min=0.0).sqrt()).numpy())


def covariance(array: FloatArray, mean: FloatArray) -> FloatArray:
    """The lower triangle of Σ, by symmetric updates: half the work, no float64 copy of the data."""
    n, d = array.shape
    covariance: FloatArray = np.zeros((d, d), order="F")
    buffer = np.empty((min(n, _CHUNK), d))
    for start in range(0, n, _CHUNK):
        part = array[start : start + _CHUNK]
        centred = np.subtract(part, mean, out=buffer[: len(part)])
        covariance = dsyrk(
            1.0 / (n - 1.0), centred.T, beta=1.0, c=covariance, lower=1, overwrite_c=1
        )
    return covariance


def _overlap(first: _Gaussian, second: _Gaussian) -> float:
    """The trace of (Σ₁Σ₂)^½."""
    d = len(first.mean)
    if first.covariance is not None and second.covariance is not None and d > _DIRECT_UP_TO:
        try:  # type 2: the eigenvalues of Σ₁Σ₂, which are those of Lᵀ Σ₁ L with Σ₂ = L Lᵀ
            squares = eigvalsh(first.covariance, second.covariance, type=2, driver="gv")
        except LinAlgError:  # Σ₂ is singular
            pass
        else:
            return float(np.sqrt(squares.clip(min=0.0)).sum())
    product = torch.from_numpy(first.factor().T @ second.factor())  # tr (Σ₁Σ₂)^½ = ‖AᵀB‖_*
    return nuclear_norm(product, direct=min(product.shape) <= _DIRECT_UP_TO)


def nuclear_norm(matrix: Tensor, *, direct: bool) -> float:
    """Σ of the singular values: computed directly, or faster from a Gram matrix, exact to 1e-8 each."""
    if direct:
        return float(torch.linalg.svdvals(matrix).sum())
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    squares = torch.linalg.eigvalsh(wide @ wide.T)
    return float(squares.clamp(min=0.0).sqrt().sum())
