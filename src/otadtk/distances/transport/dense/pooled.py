"""Many problems OT_ε between subsets of one pool at once: their sweeps are matrix products.

All draws share the kernel exp(−C/ε) of the pool; a draw is two rows of weights, zero outside its
subsets. A sweep multiplies all scalings with the kernel together, which is many times as fast as one
draw after the other, although most of what is multiplied is zero.

All sets are samples of the pool. Where costs are so large that the kernel underflows, it absorbs the
potential φ by which every point of the pool is coupled to the others: exp((φ_i + φ_j − C_ij)/ε) has
the entries that matter within a few dozen e-folds of 1, in every draw. The diagonal is kept apart: it
counts in terms of a set with itself, and where both sets have the same point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from otadtk.distances.transport.dense.anderson import RowAnderson
from otadtk.distances.transport.dense.gibbs import EXPONENT_FLOOR

_POTENTIAL_AIM, _POTENTIAL_SWEEPS = 1e-2, 100
"""Marginal error (L1) of the pool's potential, and sweeps to it at most: rough is enough."""
_TINY = 1e-300
"""Nothing is divided by less: points without weight stay finite where the kernel has underflowed."""
_CLIPPED = 0.1
"""Mass where the kernel was raised to its floor, in units of the marginal error that is aimed at."""


@dataclass(frozen=True)
class PooledTerms:
    """For every draw."""

    transport: Tensor
    """⟨T, C⟩."""
    entropic: Tensor
    """OT_ε, by the dual."""
    error: Tensor
    """Marginal error (L1); infinite or not a number where there is no solution."""


class OwnKernel:
    """Terms of subsets with themselves: entries that underflow carry nothing there."""

    def __init__(self, matrix: Tensor, epsilon: float) -> None:
        self._matrix, self._epsilon = matrix, epsilon
        self.kernel = _kernel(matrix, epsilon)

    def solve(self, a: Tensor, aim: float, limit: int) -> PooledTerms:
        """The terms of the rows of ``a``, weights of the pool's points."""
        log_a, inside = _log(a), _inside(a)
        log_s, mixing = 0.5 * log_a, RowAnderson(log_a)
        for _ in range(limit):
            s = log_s.exp().mul_(inside)
            sums = _product(s, self.kernel).add_(s)  # on the diagonal the kernel is 1
            mass = s * sums
            error = (mass - a).abs_().sum(dim=1)
            if not float(error.max()) > aim:
                break
            residual = sums.clamp_(min=_TINY).log_().neg_().add_(log_a).sub_(log_s).mul_(0.5)
            log_s = mixing.step(log_s, residual.mul_(inside))
        f = (log_s - log_a).mul_(inside)
        paid = s * _product(s, self.kernel * self._matrix)
        paid.add_((a - mass).mul_(f), alpha=2.0 * self._epsilon)  # see CrossKernel.terms
        dual = 2.0 * (a * f).sum(dim=1) - (mass.sum(dim=1) - 1.0)
        return PooledTerms(paid.sum(dim=1), self._epsilon * dual, error)


class CrossKernel:
    """Terms between two subsets, by a kernel that absorbs the pool's potential if it must."""

    def __init__(self, matrix: Tensor, epsilon: float, plain: OwnKernel | None = None) -> None:
        """``plain`` is the kernel without potential, where it is known."""
        self.epsilon, self._matrix = epsilon, matrix
        self.deep = float(matrix.max()) > -EXPONENT_FLOOR * epsilon
        """Whether entries of exp(−C/ε) are near underflow in float32."""
        self._potential = torch.zeros(len(matrix), dtype=torch.float64)
        if self.deep:
            self._potential = _pool_potential(matrix, epsilon)
        known = plain is not None and not self.deep
        self._kernel = plain.kernel if known else _kernel(matrix, epsilon, self._potential)  # type: ignore[union-attr]
        self._diagonal = (2.0 * self._potential).exp()

    @property
    def usable(self) -> bool:
        """Whether the pool's potential was found: not if a point is too far from all others."""
        return bool(self._diagonal.isfinite().all())

    def solve(self, a: Tensor, b: Tensor, aim: float, limit: int) -> tuple[Tensor, Tensor, Tensor]:
        """(f/ε, g/ε, error): potentials between the rows of ``a`` and of ``b``, each to the aim.

        They make the marginals a exact.
        """
        f, g = torch.zeros_like(a), torch.zeros_like(b)
        error = torch.full((len(a),), math.inf, dtype=a.dtype)
        todo = torch.arange(len(a))
        part_a, part_b, log_b, inside = a, b, _log(b), _inside(b)
        log_v, mixing = log_b, RowAnderson(log_b)
        for _ in range(limit):
            v = log_v.exp().mul_(inside)
            u = part_a / self._times(v).clamp_(min=_TINY)
            column = self._times(u)
            found = (v * column).sub_(part_b).abs_().sum(dim=1)
            going = found > aim
            if not bool(going.all()):
                done = ~going
                places = todo[done]
                error[places] = found[done]
                f[places] = torch.where(a[places] > 0, (u[done] / a[places]).log_(), 0.0)
                g[places] = log_v[done] - log_b[done]
                todo = todo[going]
                if len(todo) == 0:
                    break
                part_a, part_b, log_b = part_a[going], part_b[going], log_b[going]
                log_v, column, inside = log_v[going], column[going], inside[going]
                mixing.keep(going)
            residual = column.clamp_(min=_TINY).log_().neg_().add_(log_b).sub_(log_v)
            log_v = mixing.step(log_v, residual.mul_(inside))
        f.add_(self._potential)
        g.add_(self._potential)
        return f, g, error

    def terms(self, a: Tensor, b: Tensor, aim: float, limit: int) -> PooledTerms:
        """The terms between the rows of ``a`` and of ``b``, weights of the pool's points."""
        f, g, error = self.solve(a, b, aim, limit)
        u, v = a * (f - self._potential).exp_(), b * (g - self._potential).exp_()
        missing = b - v * self._times(u)
        paid = (u * _product(v, self._kernel * self._matrix)).sum(dim=1)
        # what is missing from the columns, at the price of its potential: ⟨T, C⟩ is then off as OT_ε is
        paid += self.epsilon * (missing * g).sum(dim=1)
        dual = (a * f).sum(dim=1) + (b * g).sum(dim=1)
        if self.deep:
            floor = math.exp(EXPONENT_FLOOR)
            raised = (self._kernel <= 1.001 * floor).to(self._kernel.dtype).fill_diagonal_(0.0)
            clipped = floor * (u * _product(v, raised)).sum(dim=1)
            error = torch.where(clipped <= _CLIPPED * aim, error, math.inf)
        return PooledTerms(paid, self.epsilon * dual, error)

    def _times(self, vectors: Tensor) -> Tensor:
        """The rows of vectors times the kernel, which is symmetric."""
        return _product(vectors, self._kernel).addcmul_(vectors, self._diagonal)


def _kernel(matrix: Tensor, epsilon: float, potential: Tensor | None = None) -> Tensor:
    """exp(φ ⊕ φ − C/ε) without its diagonal, raised to the floor."""
    exponent = matrix * (-1.0 / epsilon)
    if potential is not None:
        narrow = potential.to(exponent.dtype)
        exponent.add_(narrow).add_(narrow[:, None])
    return exponent.clamp_(min=EXPONENT_FLOOR).exp_().fill_diagonal_(0.0)


def _pool_potential(matrix: Tensor, epsilon: float) -> Tensor:
    """φ/ε of every point coupled to the others; not finite if one is too far from all of them."""
    kernel = matrix.to(torch.float64, copy=True)
    kernel.mul_(-1.0 / epsilon).exp_().fill_diagonal_(0.0)
    log_a = torch.full((1, len(matrix)), -math.log(len(matrix)), dtype=torch.float64)
    log_s, mixing = 0.5 * log_a, RowAnderson(log_a)
    for _ in range(_POTENTIAL_SWEEPS):
        residual = log_a - (log_s.exp() @ kernel).log() - log_s
        if not float((residual.expm1() * log_a.exp()).abs().sum()) > _POTENTIAL_AIM:
            break
        log_s = mixing.step(log_s, 0.5 * residual)
    return (log_s - log_a)[0]


def _product(vectors: Tensor, kernel: Tensor) -> Tensor:
    return (vectors.to(kernel.dtype) @ kernel).to(vectors.dtype)


def _inside(weights: Tensor) -> Tensor:
    """1 where there is weight, else 0: a product takes a tenth of the time of ``torch.where``."""
    return (weights > 0).to(weights.dtype)


def _log(weights: Tensor) -> Tensor:
    return torch.where(weights > 0, weights, 1.0).log()
