"""The smooth regime: Sinkhorn in the kernel domain, accelerated by Anderson mixing.

With C/ε of a few dozen the plan is dense and K = exp(−C/ε) fits float32, so a sweep is two
matrix-vector products. Anderson mixing on log v needs 14 sweeps where plain ones need 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.rounding import UNIT, Rounding, sum_rounding
from otadtk.distances.transport.certificate.plan import Plan, PlanSums, Progress
from otadtk.distances.transport.dense.anderson import Anderson
from otadtk.distances.transport.dense.gibbs import GibbsKernel
from otadtk.distances.transport.dense.products import TERMS, PlanProducts

_EASY_STEPS, _HARD_STEPS = 30, 120
_TOO_LARGE = 2.0**90
"""Entries of a vector from which on a product in float32 might overflow."""
_ALL_LOST = 0.99
"""The error of a plan without mass is 1."""
_LOOSEST = 1e-9
"""Fraction of its mass by which a column counts as connected to the rest, at least."""


def solve_cross(
    kernel: GibbsKernel,
    a: Tensor,
    b: Tensor,
    tolerance: float,
    limit: int,
    progress: Progress,
) -> tuple[Tensor, Tensor, int]:
    """(u, v, sweeps) with diag(u) K diag(v) of marginals a exactly and b to the tolerance (L1)."""
    mixing, log_b = Anderson(), b.log()
    # from the absorbed potentials, or from none
    log_v = log_b if kernel.near is None else log_b - kernel.g / kernel.epsilon
    level = (log_v * b).sum()
    best_error, stalled, plain = float("inf"), 0, log_v
    for sweep in range(1, limit + 1):
        v = log_v.exp()
        u, column = kernel.sweep(a, v)  # u = a / K v
        residual = log_b - column.log() - log_v  # v ← b / Kᵀ u
        error = float((v * column - b).abs().sum())
        progress("xy", sweep, error)
        lost = not math.isfinite(error) or (error > _ALL_LOST and not bool((u > 0).all()))
        if lost and log_v is not plain:  # extrapolated beyond what exp can say
            log_v, mixing = plain, Anderson()
            continue
        # float32 products end at about 1e-7: stop when six sweeps bring nothing
        stalled = 0 if error < 0.9 * best_error else stalled + 1
        if error < best_error:
            best_error, best = error, (u, v)
        if error <= tolerance or (stalled >= 6 and best_error < 1e-5) or not math.isfinite(error):
            break
        plain = log_v + residual
        log_v = mixing.step(log_v, residual)
        log_v = log_v - (log_v * b).sum() + level  # fix the free constant
    return best[0], best[1], sweep


class SupportsApply(Protocol):
    """Anything that multiplies a vector."""

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        ...


def solve_self(
    kernel: SupportsApply,
    a: Tensor,
    tolerance: float,
    limit: int,
    name: str,
    progress: Progress,
    start: Tensor | None = None,
) -> tuple[Tensor, Tensor, int]:
    """(s, s, sweeps) with diag(s) K diag(s) of marginals a, from log s = ``start`` or ½ log a.

    The kernel is positive definite.
    The averaged update log s ← ½ (log s + log a − log K s) contracts by ½ at least, whatever ε.
    """
    mixing, log_a = Anderson(), a.log()
    log_s = 0.5 * log_a if start is None else start
    best_error, stalled = float("inf"), 0
    for sweep in range(1, limit + 1):
        s = log_s.exp()
        product = kernel.apply(s)
        error = float((s * product - a).abs().sum())
        progress(name, sweep, error)
        stalled = 0 if error < 0.9 * best_error else stalled + 1
        if error < best_error:
            best_error, best = error, s
        if error <= tolerance or (stalled >= 6 and best_error < 1e-5):
            break
        log_s = mixing.step(log_s, 0.5 * (log_a - product.log() - log_s))
    return best, best, sweep


class KernelPlan(Plan):
    """T = diag(u) K diag(v) over a :class:`GibbsKernel`."""

    def __init__(
        self,
        kernel: GibbsKernel,
        u: Tensor | None,
        v: Tensor,
        a: Tensor,
        b: Tensor,
        clipped: float | None = None,
    ) -> None:
        """Without u it is a / (K v): the rows are right. ``clipped`` is the kernel's, if known."""
        self._kernel, self.v, self.costly = kernel, v, kernel.streaming
        epsilon, logarithm = kernel.epsilon, (v / b).log()
        beta = logarithm if kernel.near is None else logarithm + kernel.g / epsilon
        found = kernel.products(u, v, beta, a)
        self.u = u = a / found.rows if u is None else u
        self._clipped = kernel.clipped_mass(u, v) if clipped is None else clipped
        # T = a b exp((f + g − C)/ε)
        self.f = _numpy(kernel.f + epsilon * (u / a).log())
        self.g = _numpy(kernel.g + epsilon * logarithm)
        self.precision = sum_rounding(min(max(kernel.cost.shape), TERMS), kernel.cost.dtype)
        unit = UNIT[kernel.cost.dtype]
        rounding = kernel.cost.rounding()
        if kernel.near is None:
            rounding = rounding.reduced(_numpy(kernel.f), _numpy(kernel.g), unit)
        self.rounding = Rounding(rounding.rows + 4.0 * unit * epsilon, rounding.columns)  # of exp
        self.sums = self._verified_sums(found, beta)

    def apply(self, beta: FloatArray) -> FloatArray:
        """T β."""
        return _scaled(self.u, self._kernel.apply, self.v, beta)

    def apply_transposed(self, alpha: FloatArray) -> FloatArray:
        """Tᵀ α."""
        return _scaled(self.v, self._kernel.apply_transposed, self.u, alpha)

    def apply_both(self, beta: FloatArray) -> FloatArray:
        """Tᵀ diag(1/r) T β, in one pass over the panels."""
        weights = self.u.square() / _like(self.sums.rows, self.u)
        return _scaled(self.v, lambda v: self._kernel.apply_both(v, weights), self.v, beta)

    def given_by_rows(self, a: FloatArray) -> FloatArray:
        """Tᵀ (a / r − 1), which the pass for the sums has found."""
        return self._columns_left

    def solve_columns(self, right: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """(β, residual) of (diag(c) − Tᵀ diag(1/r) T) β = right, also where most clips have a near copy.

        A point and its near copy exchange nearly all of their mass with each other. The true
        diagonal, far below c, is what connects the two to the rest; with it as preconditioner the
        system is well conditioned.
        """
        rows, columns = self.sums.rows, self.sums.columns
        solution, residual = self.by_gradients(right, goal, columns, _EASY_STEPS)
        if np.abs(residual).sum() <= goal:
            return solution, residual
        weights = self.u.square() / torch.from_numpy(rows).to(self.u)
        squares = self._kernel.column_squares(weights)  # Σ_i T_ij² / r_i, but for v
        diagonal = columns - _numpy(squares * self.v.square())
        return self.by_gradients(right, goal, np.maximum(diagonal, _LOOSEST * columns), _HARD_STEPS)

    def newton_step(
        self, a: Tensor, b: Tensor, goal: float, radius: float
    ) -> tuple[Tensor, Tensor]:
        """(u, v) after a Newton step of the dual, ``radius``·ε at most, and a sweep; rows exact.

        Where parts of the plan are loosely tied, sweeps creep and this does not. A single point
        that goes too far comes back by one ε a step; the sweep puts it right at once.
        """
        beta, _ = self.column_correction(_numpy(a), _numpy(b), goal)
        step = torch.from_numpy(beta.clip(-radius, radius)).to(self.v)
        _, column = self._kernel.sweep(a, self.v * step.exp())
        v = b / column
        return a / self._kernel.apply(v), v

    def _verified_sums(self, found: PlanProducts, beta: Tensor) -> PlanSums:
        """All sums in one pass; the marginals in float64 from the panels as they are.

        With k = log K the cost is C = f₀ + g₀ − ε k in terms of the absorbed potentials, so no
        cost has to be computed again; the log density of T is k + α + β with α = (f − f₀)/ε.
        """
        kernel, u, v, epsilon = self._kernel, self.u, self.v, self._kernel.epsilon
        f0, g0 = kernel.f, kernel.g
        if kernel.near is not None:  # there k is −C/ε already
            f0, g0 = torch.zeros_like(f0), torch.zeros_like(g0)
        alpha = (torch.from_numpy(self.f).to(u) - f0) / epsilon
        self._columns_left = _numpy(v * found.columns_left)
        rows, columns = u * found.rows, v * found.columns
        rows_k, columns_k = u * found.rows_k, v * found.columns_k
        row_costs = rows * f0 + u * found.rows_g - epsilon * rows_k
        if kernel.symmetric:  # the absorbed potentials of a cloud with itself are zero
            column_costs = row_costs
        else:
            column_costs = columns * g0 + v * found.columns_f - epsilon * columns_k
        mass = rows.sum()
        mean = rows_k.sum() + (rows * alpha).sum() + (columns * beta).sum()
        square = (
            (u * found.rows_k2).sum()
            + 2.0 * ((rows_k * alpha).sum() + (columns_k * beta).sum())
            + (rows * alpha.square()).sum()
            + (columns * beta.square()).sum()
            + 2.0 * (u * alpha * found.rows_beta).sum()
        )
        squares = (u * found.rows_k2).sum() + (rows * alpha.square()).sum()
        squares += (columns * beta.square()).sum()  # what cancels in the variance
        variance = float(square / mass - (mean / mass) ** 2)
        sizes = (rows * f0.abs()).sum() + (columns * g0.abs()).sum() - epsilon * rows_k.sum()
        return PlanSums(
            rows=_numpy(rows),
            columns=_numpy(columns),
            row_costs=_numpy(row_costs),
            column_costs=_numpy(column_costs),
            variance=max(0.0, variance) + 4.0 * self.precision * float(squares / mass),
            dropped=self._clipped,
            unpaid=self._clipped * kernel.cost.largest(),
            cost_error=self.precision * abs(float(sizes)),
        )


def _scaled(
    left: Tensor, apply: Callable[[Tensor], Tensor], right: Tensor, array: FloatArray
) -> FloatArray:
    """diag(left) K diag(right) times a vector, or each column of a matrix.

    Scalings reach 1e35 where a point is far away, too large for the float32 of the panels. A power of
    two changes no digit.
    """
    vector = _like(array, right)
    if vector.ndim > 1:
        left, right = left[:, None], right[:, None]
    vector = right * vector
    largest = float(vector.abs().max())
    if not _TOO_LARGE < largest < math.inf:
        return _numpy(left * apply(vector))
    power = 2.0 ** math.frexp(largest)[1]
    return _numpy(left * (power * apply(vector / power)))


def _like(array: FloatArray, other: Tensor) -> Tensor:
    """The array as a tensor of the dtype and on the device of another."""
    tensor = torch.from_numpy(array)
    return tensor if other.is_cpu and other.dtype is tensor.dtype else tensor.to(other)


def _numpy(tensor: Tensor) -> FloatArray:
    if not (tensor.is_cpu and tensor.dtype is torch.float64):
        tensor = tensor.to("cpu", torch.float64)
    array: FloatArray = tensor.detach().numpy()
    return array
