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

_DEEPEST = 100.0
"""Median C/ε of a pool beyond which sweeps take longer than other ways, and mass is clipped."""
_POTENTIAL_AIM, _POTENTIAL_SWEEPS = 1e-2, 100
"""Marginal error (L1) of the pool's potential, and sweeps to it at most: rough is enough."""
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
    """Marginal error (L1); infinite where mass was lost."""


class PooledKernel:
    """The kernels of a pool: plain for self terms, with its potential absorbed for cross terms."""

    def __init__(self, matrix: Tensor, epsilon: float, aim: float, limit: int) -> None:
        """``aim`` is the marginal error (L1) to sweep to, ``limit`` the sweeps at most."""
        self.epsilon, self.aim, self.limit = epsilon, aim, limit
        self._matrix = matrix
        self._potential = torch.zeros(len(matrix), dtype=torch.float64)
        self.clips = not _shallow(matrix, epsilon)
        """Whether entries of the kernels are raised to the floor."""
        if self.clips:
            self._potential = _pool_potential(matrix, epsilon)
        self._own = self._kernel(None)
        self._cross = self._kernel(self._potential) if self.clips else self._own
        self._diagonal = (2.0 * self._potential).exp()

    @staticmethod
    def holds(matrix: Tensor, epsilon: float) -> bool:
        """Whether sweeps are the fastest way for subsets of this pool."""
        if matrix.device.type != "cpu":
            return False
        step = max(1, len(matrix) // 256)
        return float(matrix[::step, ::step].median()) <= _DEEPEST * epsilon

    @property
    def usable(self) -> bool:
        """Whether the pool's potential was found: not if a point is too far from all others."""
        return bool(self._diagonal.isfinite().all())

    def solve(self, a: Tensor, b: Tensor) -> PooledTerms:
        """The terms between the rows of ``a`` and of ``b``, weights of the pool's points."""
        u, v = torch.zeros_like(a), torch.zeros_like(b)
        error = torch.full((len(a),), math.inf, dtype=a.dtype)
        todo = torch.arange(len(a))
        target_a, target_b, log_b = a, b, _log(b)
        log_v, mixing = log_b, RowAnderson(log_b)
        for _ in range(self.limit):
            scaling = torch.where(target_b > 0, log_v.exp(), 0.0)
            row = torch.where(target_a > 0, target_a / self._times(scaling), 0.0)
            column = self._times(row)
            found = (scaling * column).sub_(target_b).abs_()
            found = torch.where(target_b > 0, found, 0.0).sum(dim=1)
            going = found > self.aim
            if not bool(going.all()):
                done = ~going
                places = todo[done]
                u[places], v[places], error[places] = row[done], scaling[done], found[done]
                todo = todo[going]
                if len(todo) == 0:
                    break
                target_a, target_b, log_b = target_a[going], target_b[going], log_b[going]
                log_v, column = log_v[going], column[going]
                mixing.keep(going)
            residual = column.log_().neg_().add_(log_b).sub_(log_v)
            log_v = mixing.step(log_v, torch.where(target_b > 0, residual, 0.0))
        return self._terms(self._cross, u, v, a, b, error)

    def solve_self(self, a: Tensor) -> PooledTerms:
        """The terms of the rows of ``a`` with themselves."""
        log_a = _log(a)
        log_s, mixing = 0.5 * log_a, RowAnderson(log_a)
        for _ in range(self.limit):
            s = torch.where(a > 0, log_s.exp(), 0.0)
            product = _product(s, self._own).add_(s)
            error = (s * product).sub_(a).abs_().sum(dim=1)
            if not float(error.max()) > self.aim:
                break
            residual = product.log_().neg_().add_(log_a).sub_(log_s).mul_(0.5)
            log_s = mixing.step(log_s, torch.where(a > 0, residual, 0.0))
        return self._terms(self._own, s, s, a, a, error)

    def _kernel(self, potential: Tensor | None) -> Tensor:
        """exp of the potentials less C/ε, without diagonal, raised to the floor."""
        exponent = self._matrix * (-1.0 / self.epsilon)
        if potential is not None:
            narrow = potential.to(exponent.dtype)
            exponent.add_(narrow).add_(narrow[:, None])
        return exponent.clamp_(min=EXPONENT_FLOOR).exp_().fill_diagonal_(0.0)

    def _times(self, vectors: Tensor) -> Tensor:
        """The rows of vectors times the cross kernel, which is symmetric."""
        return _product(vectors, self._cross).addcmul_(vectors, self._diagonal)

    def _terms(
        self, kernel: Tensor, u: Tensor, v: Tensor, a: Tensor, b: Tensor, error: Tensor
    ) -> PooledTerms:
        own = kernel is self._own and u is v
        times_v = _product(v, kernel)
        times_v.add_(v) if own else times_v.addcmul_(v, self._diagonal)
        rows = u * times_v
        columns = rows if own else v * self._times(u)
        potential = 0.0 if own else self._potential
        f = torch.where(a > 0, (u / a).log_().add_(potential), 0.0)
        g = f if own else torch.where(b > 0, (v / b).log_().add_(potential), 0.0)
        dual = (a * f).sum(dim=1) + (b * g).sum(dim=1) - (rows.sum(dim=1) - 1.0)
        paid = (u * _product(v, kernel * self._matrix)).sum(dim=1)
        # what is missing from the marginals, at the price of its potentials: the error is a gap then
        missing = ((a - rows) * f).sum(dim=1) + ((b - columns) * g).sum(dim=1)
        if self.clips and not own:
            floor = math.exp(EXPONENT_FLOOR)
            raised = (kernel <= 1.001 * floor).to(kernel.dtype)
            clipped = floor * (u * _product(v, raised)).sum(dim=1)
            error = torch.where(clipped <= _CLIPPED * self.aim, error, math.inf)
        return PooledTerms(paid + self.epsilon * missing, self.epsilon * dual, error)


def _shallow(matrix: Tensor, epsilon: float) -> bool:
    """Whether no entry of exp(−C/ε) is near underflow in float32."""
    return float(matrix.max()) <= -EXPONENT_FLOOR * epsilon


def _pool_potential(matrix: Tensor, epsilon: float) -> Tensor:
    """φ/ε of every point coupled to the others; not finite if one is too far from all of them."""
    kernel = matrix.double().mul_(-1.0 / epsilon).exp_().fill_diagonal_(0.0)
    log_a = torch.full((1, len(matrix)), -math.log(len(matrix)), dtype=torch.float64)
    log_s, mixing = 0.5 * log_a, RowAnderson(log_a)
    for _ in range(_POTENTIAL_SWEEPS):
        product = log_s.exp() @ kernel
        residual = log_a - product.log() - log_s
        if not float((residual.expm1() * log_a.exp()).abs().sum()) > _POTENTIAL_AIM:
            break
        log_s = mixing.step(log_s, 0.5 * residual)
    return (log_s - log_a)[0]


def _product(vectors: Tensor, kernel: Tensor) -> Tensor:
    return (vectors.to(kernel.dtype) @ kernel).to(vectors.dtype)


def _log(weights: Tensor) -> Tensor:
    return torch.where(weights > 0, weights, 1.0).log()
