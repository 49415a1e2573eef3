"""Many smooth problems OT_ε between subsets of one pool at once: their sweeps are matrix products.

All draws share the kernel exp(−C/ε) of the pool; a draw is two columns of weights, zero outside its
subsets. A sweep multiplies the kernel with all scalings together, which is many times as fast as one
draw after the other, although half of what is multiplied is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

_DEEPEST = 80.0
"""Largest C/ε of a pool: beyond it the kernel underflows in float32."""
_DEPTH = 6
"""Steps of Anderson mixing that are remembered, as in ``anderson.py``."""


@dataclass(frozen=True)
class PooledTerms:
    """For every draw."""

    transport: Tensor
    """⟨T, C⟩."""
    entropic: Tensor
    """OT_ε, by the dual."""
    error: Tensor
    """Marginal error (L1)."""


class PooledKernel:
    """exp(−C/ε) of a pool, and C times it."""

    def __init__(self, matrix: Tensor, epsilon: float) -> None:
        self.epsilon = epsilon
        self._kernel = (matrix * (-1.0 / epsilon)).exp_()
        self._costs = self._kernel * matrix

    @staticmethod
    def holds(matrix: Tensor, epsilon: float) -> bool:
        """Whether no entry of the kernel underflows."""
        return matrix.device.type == "cpu" and float(matrix.max()) <= _DEEPEST * epsilon

    def solve(self, a: Tensor, b: Tensor, aim: float, limit: int) -> PooledTerms:
        """The terms between the columns of ``a`` and of ``b``, weights of the pool's points."""
        rows, columns = a > 0, b > 0
        log_b = torch.where(columns, b, 1.0).log()
        log_v = log_b.clone()
        mixing = _Mixing()
        for _ in range(limit):
            v = torch.where(columns, log_v.exp(), 0.0)
            u = torch.where(rows, a / self._times(v), 0.0)
            column = self._times(u)
            error = (v * column - b).abs().sum(dim=0)
            if not float(error.max()) > aim:
                break
            residual = torch.where(
                columns, log_b - torch.where(columns, column, 1.0).log() - log_v, 0.0
            )
            log_v = mixing.step(log_v, residual)
        return self._terms(u, v, a, b, error)

    def solve_self(self, a: Tensor, aim: float, limit: int) -> PooledTerms:
        """The terms of the columns of ``a`` with themselves."""
        rows = a > 0
        log_a = torch.where(rows, a, 1.0).log()
        log_s = 0.5 * log_a
        mixing = _Mixing()
        for _ in range(limit):
            s = torch.where(rows, log_s.exp(), 0.0)
            product = self._times(s)
            error = (s * product - a).abs().sum(dim=0)
            if not float(error.max()) > aim:
                break
            residual = torch.where(rows, log_a - torch.where(rows, product, 1.0).log() - log_s, 0.0)
            log_s = mixing.step(log_s, 0.5 * residual)
        return self._terms(s, s, a, a, error)

    def _times(self, vectors: Tensor) -> Tensor:
        return (self._kernel @ vectors.to(self._kernel.dtype)).to(vectors.dtype)

    def _terms(self, u: Tensor, v: Tensor, a: Tensor, b: Tensor, error: Tensor) -> PooledTerms:
        paid = (self._costs @ v.to(self._costs.dtype)).to(v.dtype)
        f = torch.where(a > 0, u / a, 1.0).log()
        g = torch.where(b > 0, v / b, 1.0).log()
        dual = (a * f).sum(dim=0) + (b * g).sum(dim=0)
        mass = (u * self._times(v)).sum(dim=0)
        return PooledTerms((u * paid).sum(dim=0), self.epsilon * (dual - (mass - 1.0)), error)


class _Mixing:
    """Anderson mixing of every column for itself: see ``anderson.py``."""

    def __init__(self) -> None:
        self._points: list[Tensor] = []
        self._residuals: list[Tensor] = []
        self._best = math.inf

    def step(self, point: Tensor, residual: Tensor) -> Tensor:
        """The next points."""
        size = float(torch.linalg.vector_norm(residual))
        if size > 4.0 * self._best:
            self._points, self._residuals = [], []
        self._best = min(self._best, size)
        mixed = point + residual
        if self._points:
            changes = torch.stack([residual - other for other in self._residuals])
            moves = torch.stack([point - other for other in self._points])
            normal = torch.einsum("ipk,jpk->kij", changes, changes)
            scale = (
                normal.diagonal(dim1=1, dim2=2).clamp(min=torch.finfo(normal.dtype).tiny).rsqrt()
            )
            normal = normal * scale[:, :, None] * scale[:, None, :]
            normal.diagonal(dim1=1, dim2=2).add_(1e-10)
            right = scale * torch.einsum("ipk,pk->ki", changes, residual)
            gamma = scale * torch.linalg.solve_ex(normal, right[:, :, None])[0][:, :, 0]
            mixed -= torch.einsum("ipk,ki->pk", moves + changes, gamma)
        self._points = [*self._points, point][-_DEPTH:]
        self._residuals = [*self._residuals, residual][-_DEPTH:]
        return mixed
