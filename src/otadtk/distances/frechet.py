"""Fréchet distance of two sets: the Bures–Wasserstein distance of their Gaussian fits (Eq. 5)."""

from __future__ import annotations

import torch

from otadtk.distances.samples import Samples, check_samples


def frechet_distance(x: Samples, y: Samples) -> float:
    """‖μ_x − μ_y‖² + Tr(Σ_x + Σ_y − 2 (Σ_x^½ Σ_y Σ_x^½)^½), with Σ divided by n − 1, in float64.

    Never by ``sqrtm``: Tr (Σ_x^½ Σ_y Σ_x^½)^½ is the nuclear norm of X_c Y_cᵀ / √((n−1)(m−1)), and
    the sum of square roots of the eigenvalues of Lᵀ Σ_y L for Σ_x = L Lᵀ.

    >>> import torch
    >>> from otadtk.distances.frechet import frechet_distance
    >>> x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(frechet_distance(x, x + 3.0), 6)
    18.0
    """
    checked = check_samples(x, y, at_least=2, metric="FAD")
    (mean_x, a), (mean_y, b) = (_scaled_deviations(side.double()) for side in checked)
    if len(a) < a.shape[1] and len(b) < a.shape[1]:
        overlap = torch.linalg.matrix_norm(a @ b.T, ord="nuc")
    else:
        overlap = _trace_of_root(a.T @ a, b.T @ b)
    spread = a.square().sum() + b.square().sum() - 2.0 * overlap
    # rounding can leave a spread of −1e-12 between equal covariances
    return float((mean_x - mean_y).square().sum() + spread.clamp_min(0.0))


def _scaled_deviations(samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(μ, A) of a set, with AᵀA its covariance."""
    mean = samples.mean(dim=0)
    return mean, (samples - mean) / (len(samples) - 1) ** 0.5


def _trace_of_root(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Tr (A^½ B A^½)^½ of two covariances."""
    factor, failed = torch.linalg.cholesky_ex(a)
    if failed:  # singular: fewer samples than dimensions, or constant features
        values, vectors = torch.linalg.eigh(a)
        factor = vectors * values.clamp_min(0.0).sqrt()
    values = torch.linalg.eigvalsh(factor.T @ b @ factor)
    return torch.sqrt(values.clamp_min(0.0)).sum()
