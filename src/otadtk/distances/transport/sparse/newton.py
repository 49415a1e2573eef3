"""Newton's method for the dual of OT_ε on a sparse support, started near the optimum.

With g eliminated by its soft minimum the dual is h(f) = Σ a f + Σ b g(f), concave and smooth, of
gradient a − T1 and Hessian −(diag(T1) − T diag(1/b) Tᵀ)/ε, a graph Laplacian. Each step solves
it by conjugate gradients on a few entries a row and is kept if h rises.
Steps 3c and 3d of the ladder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.rounding import UNIT, Rounding
from otadtk.distances.transport.certificate.plan import Plan, PlanSums
from otadtk.distances.transport.sparse.laplacian import PlanLaplacian
from otadtk.distances.transport.sparse.support import IndexArray, Support, group_sums

if TYPE_CHECKING:  # slow to import, and smooth problems need none of it
    import scipy.sparse

_SWEEPS = 3
_PATIENCE = 10
_LARGEST_EXPONENT = 300.0
"""Of an entry of the plan: squares of e^300 are finite still."""
_EMPTIEST = 1e-12
"""Share of its weight that a row of the plan has at least in a Newton step."""
_RADIUS = 8.0
"""Largest step of a potential at first, in units of ε."""


class SparseDual:
    """The dual on one support: soft minima, plan, Newton steps; every row and column has a pair."""

    def __init__(self, support: Support, a: FloatArray, b: FloatArray, epsilon: float) -> None:
        self.support, self.a, self.b, self.epsilon = support, a, b, epsilon
        # half as wide as the linear indices: a support may have hundreds of pairs a row
        self._rows, self._columns = support.rows.astype(np.int32), support.columns.astype(np.int32)
        self._needs_tree = False
        self._base = np.log(a)[self._rows] + np.log(b)[self._columns] - support.costs / epsilon
        self._row_starts = _starts(self._rows, len(a))
        by_column = np.argsort(self._columns, kind="stable")
        self._column_base = self._base[by_column]
        self._column_rows = self._rows[by_column]
        self._column_columns = self._columns[by_column]
        self._column_starts = _starts(self._column_columns, len(b))

    def update_f(self, g: FloatArray) -> FloatArray:
        """f_i = −ε log Σ_j b_j exp((g_j − C_ij)/ε): rows become exact."""
        exponent = self._base + (g / self.epsilon)[self._columns]
        sums = _log_sum_exp(exponent, self._row_starts[:-1], self._rows)
        return -self.epsilon * (sums - np.log(self.a))

    def update_g(self, f: FloatArray) -> FloatArray:
        """g_j = −ε log Σ_i a_i exp((f_i − C_ij)/ε): columns become exact."""
        exponent = self._column_base + (f / self.epsilon)[self._column_rows]
        sums = _log_sum_exp(exponent, self._column_starts[:-1], self._column_columns)
        return -self.epsilon * (sums - np.log(self.b))

    def plan(self, f: FloatArray, g: FloatArray) -> scipy.sparse.csr_matrix:
        """T on the support."""
        import scipy.sparse

        scaled_f, scaled_g = f / self.epsilon, g / self.epsilon
        exponent = self._base + scaled_f[self._rows] + scaled_g[self._columns]
        # potentials that are far off on a pair that has just joined: a sweep puts them right
        data = np.exp(np.minimum(exponent, _LARGEST_EXPONENT, out=exponent), out=exponent)
        shape = (len(self.a), len(self.b))
        return scipy.sparse.csr_matrix((data, self._columns, self._row_starts), shape=shape)

    def value(self, f: FloatArray, g: FloatArray) -> float:
        """Σ a f + Σ b g, the dual when one marginal is exact."""
        return float(self.a @ f + self.b @ g)

    def solve(
        self,
        f: FloatArray,
        g: FloatArray,
        aim: float,
        limit: int,
        report: Callable[[int, float], None],
    ) -> tuple[FloatArray, FloatArray, int]:
        """(f, g, Newton steps), columns exact and rows to an L1 error of ``aim`` if possible."""
        f, g = self._sweep(g)
        height, errors, radius = self.value(f, g), [float("inf")], _RADIUS
        for step in range(limit):
            plan = self.plan(f, g)
            row = np.add.reduceat(plan.data, self._row_starts[:-1])
            residual = self.a - row
            errors.append(float(np.abs(residual).sum()))
            report(step, errors[-1])
            stalled = len(errors) > _PATIENCE and errors[-1] > 0.5 * errors[-_PATIENCE]
            if errors[-1] <= aim or (stalled and errors[-1] < 1e-4):
                return f, g, step
            if errors[-1] > 0.7 * errors[-2]:  # a loose part on its way: let it go faster
                radius *= 4.0
            direction = self._newton_direction(plan, row, residual, errors[-1])
            move = self.epsilon * np.clip(direction, -radius, radius)
            slope, length = float(residual @ move), 1.0
            while length > 1e-4:
                f_new = f + length * move
                g_new = self.update_g(f_new)
                height_new = self.value(f_new, g_new)
                if height_new >= height + 1e-4 * length * slope - 1e-13 * abs(height):
                    break
                length *= 0.5
            else:
                g_new, height_new = g, height
            if length < 1.0:  # far from quadratic: plain sweeps are a safe step
                radius = _RADIUS
                f_new, g_new = self._sweep(g_new)
                height_new = self.value(f_new, g_new)
            f, g, height = f_new, g_new, height_new
        return f, g, limit

    def _sweep(self, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        for _ in range(_SWEEPS):
            f = self.update_f(g)
            g = self.update_g(f)
        return f, g

    def _newton_direction(
        self, plan: scipy.sparse.csr_matrix, row: FloatArray, residual: FloatArray, error: float
    ) -> FloatArray:
        """Solution d of (diag(r)(1 + μ) − T diag(1/b) Tᵀ) d = a − r, in units of ε.

        A part of the plan that a weak link of weight w joins to the rest gets the common offset
        d = residual / w, which may be e³⁰; but the link grows as w e^d: a few ε are enough.
        """
        damping = min(1e-6, error * error)
        row = np.maximum(row, _EMPTIEST * self.a)
        laplacian = PlanLaplacian(plan, plan.T.tocsr(), row, self.b, damping, self._needs_tree)
        goal = min(0.1, float(np.sqrt(error))) * error
        direction = laplacian.solve_rows(residual, goal)
        self._needs_tree = laplacian.needs_tree
        return direction


class SparsePlan(Plan):
    """T on a support; what lies outside it weighs ``dropped`` at most.

    Pairs whose T is below e^−``rough`` a b have costs that may be off by ``tiles``, the others by
    ``entries``.
    """

    def __init__(
        self,
        dual: SparseDual,
        f: FloatArray,
        g: FloatArray,
        dropped: float,
        entries: Rounding,
        tiles: Rounding | None = None,
        rough: float = np.inf,
    ) -> None:
        self.f, self.g, self.rounding = f, g, entries
        self._plan = dual.plan(f, g)
        self._transposed = self._plan.T.tocsr()
        data: FloatArray = np.asarray(self._plan.data, dtype=np.float64)
        costs = dual.support.costs
        n, m = len(f), len(g)
        rows, columns = dual.support.rows, dual.support.columns
        log_density = (f[rows] + g[columns] - costs) / dual.epsilon
        mass = float(data.sum())
        mean = float(data @ log_density) / mass
        self.precision = len(data) * UNIT[torch.float64]
        unpaid, transport = 0.0, data * costs
        if tiles is not None:
            tail = np.flatnonzero(log_density <= -rough)
            off = tiles.rows[rows[tail]] + tiles.columns[columns[tail]]
            unpaid = float(data[tail] @ off)
            relative = np.minimum(off / dual.epsilon, _LARGEST_EXPONENT)
            # z e^z is above e^z − 1, and faster
            dropped += float(data[tail] @ (relative * np.exp(relative)))
        self.sums = PlanSums(
            rows=group_sums(rows, data, n),
            columns=group_sums(columns, data, m),
            row_costs=group_sums(rows, transport, n),
            column_costs=group_sums(columns, transport, m),
            variance=float(data @ np.square(log_density - mean)) / mass,
            dropped=dropped,
            unpaid=unpaid,
            cost_error=self.precision * float(transport.sum()),
        )

    def apply(self, beta: FloatArray) -> FloatArray:
        """T β."""
        product: FloatArray = self._plan @ beta
        return product

    def apply_transposed(self, alpha: FloatArray) -> FloatArray:
        """Tᵀ α."""
        product: FloatArray = self._transposed @ alpha
        return product

    def solve_columns(self, right: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """(β, residual) of (diag(c) − Tᵀ diag(1/r) T) β = right."""
        laplacian = PlanLaplacian(
            self._plan, self._transposed, self.sums.rows, self.sums.columns, damping=1e-12
        )
        beta = laplacian.solve_columns(right, goal)
        return beta, right - self.laplacian(beta)


def _starts(groups: NDArray[np.int32], count: int) -> IndexArray:
    """Where each of the groups 0 … count − 1 begins in a sorted array, and its end."""
    return np.searchsorted(groups, np.arange(count + 1, dtype=np.int32))


def _log_sum_exp(exponent: FloatArray, starts: IndexArray, group: NDArray[np.int32]) -> FloatArray:
    """Logarithms of Σ exp over consecutive groups that start at ``starts``."""
    peak = np.maximum.reduceat(exponent, starts)
    total: FloatArray = peak + np.log(np.add.reduceat(np.exp(exponent - peak[group]), starts))
    return total
