"""Many sharp problems OT_ε at once, as one: the plans of all are blocks of one sparse matrix.

Statistics solve hundreds of problems of some hundred points. One at a time, most of the time is the
overhead of calls; here a product is one of all problems. Each starts from its potentials at a larger ε,
which Newton steps follow down to ε in stages. A stage takes the pairs of small reduced cost, and the pairs
that carried mass in the stage before: with these every problem stays feasible. Each problem has its own
step length and is left alone once it is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.transport.dense.gibbs import EXPONENT_FLOOR

IndexArray = NDArray[np.int64]

_FACTOR = 3.0
"""From the ε of one stage to the next."""
_STAGE_AIM, _STAGE_REACH, _LAST_REACH = 5e-3, 8.0, 12.0
"""Marginal error (L1) that ends a stage, and the reduced costs of its pairs in units of its ε."""
_REACH_BEFORE = 4.0
"""The same in units of the ε that the potentials are from."""
_CARRIES = 1e-3
"""Share of its row's weight from which on a pair is kept for the next stage."""
_STEPS, _GRADIENTS, _FORCING = 30, 30, 0.1
"""Newton steps, conjugate gradients in one, and what these leave of its right side."""
_RADIUS = 8.0
"""Largest step of a potential at first, in units of ε."""
_SHORTEST = 1e-4
_FEW = 1 << 16
"""Pairs up to which products are fast enough without scipy, which takes long to import."""
_DAMPING, _LOOSEST = 1e-6, 1e-6
"""Of the diagonal of a Newton step, and the least of it that preconditions."""


@dataclass(frozen=True)
class Sharp:
    """A problem: costs, weights, and potentials at a larger ε."""

    cost: Tensor
    a: FloatArray
    b: FloatArray
    f: FloatArray
    g: FloatArray


@dataclass(frozen=True)
class SharpTerms:
    """For every problem."""

    transport: FloatArray
    """⟨T, C⟩."""
    entropic: FloatArray
    """OT_ε, by the dual."""
    error: FloatArray
    """Marginal error (L1), over all pairs."""


def solve_together(
    problems: Sequence[Sharp], start: float, epsilon: float, aim: float
) -> SharpTerms:
    """The terms at ε, from potentials at ``start``, with marginals to twice the ``aim`` if possible."""
    a, b, f, g = (
        np.concatenate([getattr(problem, name) for problem in problems]) for name in "abfg"
    )
    rows, columns = (_offsets([len(getattr(p, name)) for p in problems]) for name in "ab")
    stages, before = [], start
    while start > 1.5 * _FACTOR * epsilon:
        start /= _FACTOR
        stages.append(start)
    carrying: list[IndexArray] = [np.empty(0, dtype=np.int64)] * len(problems)
    for stage in (*stages, epsilon, None):
        last = stage is None
        stage = epsilon if stage is None else stage
        reach = _LAST_REACH * stage if last else max(_STAGE_REACH * stage, _REACH_BEFORE * before)
        parts = [
            _near(
                problem.cost, f[rows[k] : rows[k + 1]], g[columns[k] : columns[k + 1]], reach, kept
            )
            for k, (problem, kept) in enumerate(zip(problems, carrying, strict=True))
        ]
        blocks = _Blocks(
            np.concatenate([part[0] + rows[k] for k, part in enumerate(parts)]),
            np.concatenate([part[1] + columns[k] for k, part in enumerate(parts)]),
            np.concatenate([part[2] for part in parts]) / stage,
            a, b, rows, columns,
        )  # fmt: skip
        blocks.solve(f / stage, g / stage, aim if last else _STAGE_AIM)
        f, g, before = stage * blocks.f, stage * blocks.g, stage
        if not last:
            carrying = blocks.carrying()
    terms = blocks.terms(epsilon)
    found = [
        replace(problem, f=f[rows[k] : rows[k + 1]], g=g[columns[k] : columns[k + 1]])
        for k, problem in enumerate(problems)
    ]
    error = np.maximum(terms.error, [_full_error(problem, epsilon) for problem in found])
    return replace(terms, error=error)


def _full_error(problem: Sharp, epsilon: float) -> float:
    """The marginal error (L1) over all pairs: pairs that were left out and should not may have mass."""
    log_u = problem.f / epsilon + np.log(problem.a)
    log_v = problem.g / epsilon + np.log(problem.b)
    plan = problem.cost * (-1.0 / epsilon)
    plan += torch.from_numpy(log_v).to(plan)
    plan += torch.from_numpy(log_u).to(plan)[:, None]
    plan.clamp_(EXPONENT_FLOOR, 0.0).exp_()
    missing = plan.sum(dim=1).double().numpy() - problem.a
    return float(np.abs(missing).sum() + np.abs(plan.sum(dim=0).double().numpy() - problem.b).sum())


def _offsets(sizes: Sequence[int] | IndexArray) -> IndexArray:
    return np.concatenate([[0], np.cumsum(sizes)])


def _near(
    cost: Tensor, f: FloatArray, g: FloatArray, reach: float, kept: IndexArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """(rows, columns, costs) of the pairs with C − f ⊕ g < reach, those kept, and one a row and column."""
    reduced = cost - torch.from_numpy(f).to(cost)[:, None]
    reduced -= torch.from_numpy(g).to(cost)
    chosen = reduced < reach
    chosen.view(-1)[torch.from_numpy(kept)] = True
    rows, columns = chosen.nonzero(as_tuple=True)
    bare_rows = np.flatnonzero(np.bincount(rows.numpy(), minlength=len(f)) == 0)
    bare_columns = np.flatnonzero(np.bincount(columns.numpy(), minlength=len(g)) == 0)
    if len(bare_rows) + len(bare_columns) > 0:
        chosen[bare_rows, reduced[bare_rows].argmin(dim=1)] = True
        chosen[reduced[:, bare_columns].argmin(dim=0), bare_columns] = True
        rows, columns = chosen.nonzero(as_tuple=True)
    return rows.numpy(), columns.numpy(), cost[rows, columns].double().numpy()


def _order(columns: NDArray[np.int32], starts: IndexArray, width: int) -> IndexArray:
    """The pairs by columns, those of a column in order."""
    if len(columns) <= _FEW:
        return np.argsort(columns, kind="stable")
    import scipy.sparse  # counts instead of sorting

    places, shape = np.arange(len(columns)), (len(starts) - 1, width)
    return np.asarray(scipy.sparse.csr_matrix((places, columns, starts), shape=shape).tocsc().data)


def _product(
    data: FloatArray, columns: NDArray[np.int32], starts: IndexArray, width: int
) -> Callable[[FloatArray], FloatArray]:
    """Multiplies a vector with a sparse matrix, given by rows."""
    if len(data) <= _FEW:
        return lambda vector: np.asarray(np.add.reduceat(data * vector[columns], starts[:-1]))
    import scipy.sparse

    matrix = scipy.sparse.csr_matrix((data, columns, starts), shape=(len(starts) - 1, width))
    return lambda vector: np.asarray(matrix @ vector)


class _Blocks:
    """The duals of all problems on their supports, with g eliminated; all in units of ε.

    Plans are kept by columns: of given f the soft minimum g makes the columns exact.
    """

    def __init__(
        self, rows: IndexArray, columns: IndexArray, costs: FloatArray, a: FloatArray, b: FloatArray,
        row_offsets: IndexArray, column_offsets: IndexArray,
    ) -> None:  # fmt: skip
        self.a, self.b, self._costs = a, b, costs
        self._row_offsets, self._column_offsets = row_offsets, column_offsets
        self._rows, self._columns = rows.astype(np.int32), columns.astype(np.int32)
        self._row_starts = np.searchsorted(rows, np.arange(len(a) + 1))
        self._order = _order(self._columns, self._row_starts, len(b))
        self._column_rows = self._rows[self._order]
        self._column_columns = self._columns[self._order]
        self._column_starts = np.searchsorted(self._column_columns, np.arange(len(b) + 1))
        self._back = np.empty_like(self._order)
        self._back[self._order] = np.arange(len(rows))
        base = np.log(a)[rows] + np.log(b)[columns] - costs
        self._row_base, self._column_base = base, base[self._order]
        self.f, self.g = np.zeros_like(a), np.zeros_like(b)
        self.plan = np.zeros_like(base)
        self.error = np.full(len(row_offsets) - 1, np.inf)

    def solve(self, f: FloatArray, g: FloatArray, aim: float, limit: int = _STEPS) -> None:
        """Newton steps from (f, g) to a marginal error of ``aim`` in every problem."""
        for _ in range(2):
            f = self._soft_rows(g)
            g, plan = self._soft_columns(f)
        height, radius = self._height(f, g), np.full(len(self.error), _RADIUS)
        sizes = np.diff(self._row_offsets)
        for step in range(limit + 1):
            row: FloatArray = np.asarray(np.bincount(self._column_rows, plan, len(f)), float)
            missing = self.a - row
            self.f, self.g, self.plan = f, g, plan
            self.error = self._sums(np.abs(missing))
            going = self.error > aim
            if not going.any() or step == limit:
                return
            if 2 * going.sum() <= len(going) and len(going) > 1:
                self._go_on(going, aim, limit - step)
                return
            missing[~np.repeat(going, sizes)] = 0.0
            move = self._direction(plan, row, missing)
            bound = np.repeat(radius, sizes)
            np.clip(move, -bound, bound, out=move)
            slope, length = self._sums(missing * move), np.ones_like(radius)
            while True:
                tried = f + np.repeat(length, sizes) * move
                g, plan = self._soft_columns(tried)
                risen = self._height(tried, g)
                least = height + 1e-4 * length * slope - 1e-13 * np.abs(height)
                short = (risen < least) & (length > _SHORTEST)
                if not short.any():
                    break
                length[short] *= 0.25
            f, height = tried, risen
            radius = np.where(length < 1.0, _RADIUS, 2.0 * radius)

    def carrying(self) -> list[IndexArray]:
        """Of every problem the pairs that carry mass, as i·M + j."""
        heavy = np.flatnonzero(self.plan[self._back] > _CARRIES * self.a[self._rows])
        rows, columns = self._rows[heavy].astype(np.int64), self._columns[heavy]
        ends = np.searchsorted(rows, self._row_offsets)
        widths = np.diff(self._column_offsets)
        return [
            (rows[i:j] - self._row_offsets[k]) * widths[k] + columns[i:j] - self._column_offsets[k]
            for k, (i, j) in enumerate(pairwise(ends))
        ]

    def terms(self, epsilon: float) -> SharpTerms:
        """⟨T, C⟩ and OT_ε of every problem, columns exact."""
        row = np.bincount(self._column_rows, self.plan, len(self.a))
        paid = np.bincount(self._column_rows, self.plan * self._costs[self._order], len(self.a))
        # what is missing from the rows, at the price of its potential
        transport = self._sums(paid + (self.a - row) * self.f)
        return SharpTerms(epsilon * transport, epsilon * self._height(self.f, self.g), self.error)

    def _go_on(self, going: NDArray[np.bool_], aim: float, limit: int) -> None:
        """The same with the problems that are not solved yet."""
        rows = np.repeat(going, np.diff(self._row_offsets))
        columns = np.repeat(going, np.diff(self._column_offsets))
        pairs = rows[self._rows]
        new_rows, new_columns = np.cumsum(rows) - 1, np.cumsum(columns) - 1
        part = _Blocks(
            new_rows[self._rows[pairs]], new_columns[self._columns[pairs]], self._costs[pairs],
            self.a[rows], self.b[columns],
            _offsets(np.diff(self._row_offsets)[going]),
            _offsets(np.diff(self._column_offsets)[going]),
        )  # fmt: skip
        part.solve(self.f[rows], self.g[columns], aim, limit)
        self.f, self.g, self.plan = self.f.copy(), self.g.copy(), self.plan.copy()
        self.f[rows], self.g[columns], self.error[going] = part.f, part.g, part.error
        self.plan[pairs[self._order]] = part.plan

    def _soft_rows(self, g: FloatArray) -> FloatArray:
        """f_i = −log Σ_j b_j exp(g_j − C_ij)."""
        exponent = self._row_base + g[self._columns]
        peak = np.maximum.reduceat(exponent, self._row_starts[:-1])
        exponent -= peak[self._rows]
        np.exp(exponent, out=exponent)
        sums = np.add.reduceat(exponent, self._row_starts[:-1])
        return np.asarray(np.log(self.a / sums) - peak)

    def _soft_columns(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(g, T by columns) with g_j = −log Σ_i a_i exp(f_i − C_ij): columns are exact."""
        plan = self._column_base + f[self._column_rows]
        peak = np.maximum.reduceat(plan, self._column_starts[:-1])
        plan -= peak[self._column_columns]
        np.exp(plan, out=plan)
        share = self.b / np.add.reduceat(plan, self._column_starts[:-1])
        plan *= share[self._column_columns]
        return np.log(share) - peak, plan

    def _direction(self, plan: FloatArray, row: FloatArray, missing: FloatArray) -> FloatArray:
        """D of (diag(r)(1 + μ) − T diag(1/b) Tᵀ) d = missing, by conjugate gradients, each for itself."""
        by_rows = _product(plan[self._back], self._columns, self._row_starts, len(self.b))
        by_columns = _product(plan, self._column_rows, self._column_starts, len(self.a))
        degree = (1.0 + _DAMPING) * np.maximum(row, 1e-12 * self.a)
        # where a row and a column exchange nearly all, the true diagonal is what ties them to others
        squares = np.bincount(
            self._column_rows, plan * plan / self.b[self._column_columns], len(row)
        )
        inverse = 1.0 / np.maximum(degree - squares, _LOOSEST * degree)
        sizes = np.diff(self._row_offsets)
        left = self._sums(np.abs(missing))
        goal = _FORCING * left
        solution, residual = np.zeros_like(missing), missing
        preconditioned = inverse * residual
        direction, weight = preconditioned, self._sums(residual * preconditioned)
        for _ in range(_GRADIENTS):
            live = (left > goal) & (weight > 0.0)
            if not live.any():
                break
            image = degree * direction - by_rows(by_columns(direction) / self.b)
            curvature = self._sums(direction * image)
            live &= curvature > 0.0
            length = np.repeat(
                np.divide(weight, curvature, out=np.zeros_like(weight), where=live), sizes
            )
            solution = solution + length * direction
            residual = residual - length * image
            left = self._sums(np.abs(residual))
            preconditioned = inverse * residual
            weight, last = self._sums(residual * preconditioned), weight
            ratio = np.divide(weight, last, out=np.zeros_like(weight), where=last > 0.0)
            direction = preconditioned + np.repeat(ratio, sizes) * direction
        return solution

    def _height(self, f: FloatArray, g: FloatArray) -> FloatArray:
        """Σ a f + Σ b g of every problem, the dual when the columns are exact."""
        columns = np.add.reduceat(self.b * g, self._column_offsets[:-1])
        return np.asarray(self._sums(self.a * f) + columns)

    def _sums(self, values: FloatArray) -> FloatArray:
        """Of every problem's rows."""
        return np.asarray(np.add.reduceat(values, self._row_offsets[:-1]))
