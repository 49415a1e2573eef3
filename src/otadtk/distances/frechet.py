"""The Fréchet distance between the Gaussians of two sets of embeddings (FAD)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.moments import Moments
from otadtk.errors import UsageError

_DIRECT_UP_TO = 1000
"""Side up to which singular values are taken directly; beyond it, from a Gram matrix."""


def frechet_distance(first: Moments, second: Moments) -> float:
    """‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁Σ₂)^½) with unbiased covariances, in float64 (Eq. 5).

    No matrix square root is taken. With factors Σ₁ = A Aᵀ and Σ₂ = B Bᵀ, tr (Σ₁Σ₂)^½ is the sum
    of the singular values of Aᵀ B. A factor is the centred data itself where there are fewer
    samples than dimensions, else a Cholesky factor; in many dimensions the eigenvalues of Σ₁Σ₂
    come from one factor alone.

    >>> import numpy as np
    >>> from otadtk.distances.moments import moments
    >>> x = np.random.default_rng(0).normal(size=(200, 4))
    >>> round(frechet_distance(moments(x), moments(x + 0.5)), 6)
    1.0
    """
    if first.dimension != second.dimension:
        raise UsageError(f"The sets differ in dimension: {first.dimension} and {second.dimension}.")
    for name, side in (("first", first), ("second", second)):
        if side.count == 1:
            raise UsageError(f"The {name} set has one sample: a covariance needs two at least.")
    shift = first.mean - second.mean
    traces = first.trace + second.trace
    return max(0.0, float(shift @ shift) + traces - 2.0 * _overlap(first, second))


def _overlap(first: Moments, second: Moments) -> float:
    """The trace of (Σ₁Σ₂)^½."""
    many = first.dimension > _DIRECT_UP_TO
    if first.covariance is not None and second.covariance is not None and many:
        from scipy.linalg import LinAlgError, eigvalsh  # slow to import, and transport needs none

        try:  # type 2: the eigenvalues of Σ₁Σ₂, which are those of Lᵀ Σ₁ L with Σ₂ = L Lᵀ
            squares = eigvalsh(first.covariance, second.covariance, type=2, driver="gv")
        except LinAlgError:  # Σ₂ is singular
            pass
        else:
            return float(np.sqrt(squares.clip(min=0.0)).sum())
    product = torch.from_numpy(_factor(first).T @ _factor(second))  # tr (Σ₁Σ₂)^½ = ‖AᵀB‖_*
    return nuclear_norm(product, direct=min(product.shape) <= _DIRECT_UP_TO)


def _factor(side: Moments) -> FloatArray:
    """A of shape (d, r) with A Aᵀ = Σ and the smaller r of samples and dimensions."""
    if side.covariance is None:
        assert side.factor is not None
        return side.factor
    covariance = torch.from_numpy(side.covariance)
    lower, info = torch.linalg.cholesky_ex(covariance)
    if int(info) == 0:
        return np.asarray(lower.numpy())
    # a direction without variance
    values, vectors = torch.linalg.eigh(covariance)
    return np.asarray((vectors * values.clamp(min=0.0).sqrt()).numpy())


def nuclear_norm(matrix: Tensor, *, direct: bool) -> float:
    """Σ of the singular values: computed directly, or faster from a Gram matrix, exact to 1e-8 each."""
    if direct:
        return float(torch.linalg.svdvals(matrix).sum())
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    squares = torch.linalg.eigvalsh(wide @ wide.T)
    return float(squares.clamp(min=0.0).sqrt().sum())
