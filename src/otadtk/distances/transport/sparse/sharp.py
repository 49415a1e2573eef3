"""The sharp regime: the plan is sparse, so find where it lives and solve the dual there.

Cross term (step 3): coarse potentials (3a) → exact transport by column generation (3b) → Newton steps
at larger ε (3c) → Newton at ε on the pairs whose reduced cost is within a few ε, and a check over all
pairs, which confirms the support or widens it (3d). Self term (step 6a): only pairs at a few dozen ε
can carry mass.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.rounding import UNIT
from otadtk.distances.costs.squared import row_tiles
from otadtk.distances.transport.certificate.plan import Progress
from otadtk.distances.transport.dense.smooth import solve_self
from otadtk.distances.transport.sparse.annealing import anneal, coarse_potentials, weighted_sample
from otadtk.distances.transport.sparse.columns import transport_by_columns
from otadtk.distances.transport.sparse.newton import SparseDual, SparsePlan
from otadtk.distances.transport.sparse.support import Support, near_pairs

if TYPE_CHECKING:  # slow to import, and smooth problems need none of it
    import scipy.sparse

_PAIRS_A_ROW = 12
_CENTRED = 1e-2
_CENTRING = (16.0, 4.0)
"""Multiples of ε at which the dual is solved roughly before ε itself."""
_ENOUGH = 0.2
"""Newcomers a row below which the simplex has done its part: Newton finishes faster than it."""
_FIRST_REACH = 6.0
"""Reduced cost in ε of the pairs on which ε itself is first solved roughly: the fewer the faster."""
_FIRST_PAIRS = 40
"""Pairs a row on which it is solved first, about: where the potentials are still off, far more are
within reach than those that matter."""
_FORECAST = (500, 2000)
"""Points of each cloud in the samples that the size of a plan is forecast from."""
_CHECKS = 8
_DENSEST = 0.1
_FEW = 400_000
"""A support of so many pairs, or of a tenth of all pairs, is worth truncating to."""
_MANY = 4_000_000
"""A support of so many pairs is better than sweeps that do not converge; it takes 0.6 GB."""
_REACH = 17.0
"""Pairs with T_ij < e^−17 a_i b_j are left out: 4e-8 of the mass at most."""
_MATTER = 10.0
"""Pairs with T_ij > e^−10 a_i b_j get their costs from differences, in float64."""


def solve_sharp_cross(
    cost: Cost,
    a: Tensor,
    b: Tensor,
    epsilon: float,
    memory: int,
    tolerance: float,
    limit: int,
    progress: Progress,
    *,
    dense: bool = False,
) -> tuple[SparsePlan, int] | None:
    """(plan, Newton steps), or None when the plan turns out not to be sparse.

    ``dense`` takes it for a plan with a dense part, which sweeps could not solve: a few points far
    away from all others are enough for that.
    """
    panels = Panels(cost, memory)
    weights_a, weights_b = a.cpu().double().numpy(), b.cpu().double().numpy()
    f_coarse, g_coarse = coarse_potentials(panels, a, b)  # step 3a
    start = starting_pairs(panels, f_coarse, g_coarse)
    exact = transport_by_columns(  # step 3b
        panels, start, weights_a, weights_b, slack=0.5 * epsilon, enough=_ENOUGH
    )
    f, g, steps = exact.f, exact.g, 0
    n, m = cost.shape
    cap = max(int(_DENSEST * n * m), _MANY if dense else _FEW)
    support = exact.support
    # step 3c: the simplex ends in a corner of the dual; a larger ε leads to its middle
    for factor in (*_CENTRING, 1.0):
        if factor == 1.0:  # the potentials are good enough to look for the pairs that matter
            on_f, on_g = _on(f, cost), _on(g, cost)
            reach = min(_FIRST_REACH * epsilon, _reach(panels, on_f, on_g, _FIRST_PAIRS))
            near = near_pairs(panels, on_f, on_g, reach, cap)
            if near is None:
                return None
            support = exact.support.joined(near)
        centring = SparseDual(support, weights_a, weights_b, factor * epsilon)
        report = partial(_report, progress, steps)
        f, g, taken = centring.solve(f, g, _CENTRED, max(0, limit - steps), report)
        steps += taken
        del centring  # before the next one takes its place in memory
    # rounding a plan to exact marginals moves the missing mass at the mean cost
    value = max(abs(float(weights_a @ f + weights_b @ g)), epsilon)
    aim = max(1e-9, min(1e-4, 0.2 * tolerance * value / max(cost.mean(a, b), epsilon)))
    matter: Support | None = None
    unit = UNIT[cost.dtype]
    for check in range(_CHECKS):  # step 3d
        # potentials raised by the rounding of the costs: no pair within reach is missed
        tiles = cost.rounding().reduced(f, g, unit)
        raised_f, raised_g = f + tiles.rows, g + tiles.columns
        near = near_pairs(panels, _on(raised_f, cost), _on(raised_g, cost), _REACH * epsilon, cap)
        if near is None:
            return None
        # the support of the simplex stays: it is feasible, and holds loose parts in place
        reduced = near.costs - raised_f[near.rows] - raised_g[near.columns]
        matter = near.chosen(reduced < _MATTER * epsilon).with_exact_costs(cost, matter)
        support = exact.support.joined(near).joined(matter)
        del near, reduced
        dual = SparseDual(support, weights_a, weights_b, epsilon)
        # every pair left out has T_ij < a_i b_j exp(−reach)
        plan = SparsePlan(
            dual, f, g, float(np.exp(-_REACH)), cost.entry_rounding(), tiles, 0.999 * _MATTER
        )
        error = float(np.abs(plan.sums.rows - weights_a).sum())
        error += float(np.abs(plan.sums.columns - weights_b).sum())
        done = error <= 3.0 * aim or steps >= limit or check == _CHECKS - 1
        if check > 0 and done:
            return plan, steps
        del plan
        report = partial(_report, progress, steps)
        f, g, taken = dual.solve(f, g, aim, max(1, limit - steps), report)
        steps += taken
        del dual
    raise AssertionError  # the last check returns


def solve_sharp_self(
    cost: Cost, a: Tensor, epsilon: float, reach: float, limit: int, term: str,
    progress: Progress, tolerance: float,
) -> tuple[SparsePlan, int]:  # fmt: skip
    """(plan, sweeps) of a cloud with itself, over the pairs with C < reach·ε.

    On the diagonal T_ii = s_i² ≤ a_i, so T_ij ≤ sqrt(a_i a_j) exp(−C_ij/ε) for every pair.
    """
    import scipy.sparse

    weights = a.cpu().double().numpy()
    n, _ = cost.shape
    found, tiles = [], row_tiles(n, n)
    buffer = cost.tile_buffer(tiles)
    rounding = torch.from_numpy(3.0 * cost.rounding().rows).to(cost.device, cost.dtype)
    for rows in tiles:
        tile = cost.tile(rows, rows.start, buffer=buffer)  # of the upper triangle
        tile -= rounding[rows.start :]
        flat = (tile < reach * epsilon + rounding[rows, None]).nonzero()
        found.append((flat[:, 0] + rows.start) * n + flat[:, 1] + rows.start)
    linear = torch.cat(found).cpu().numpy()
    linear = linear[linear // n < linear % n]
    upper = Support(linear, np.empty(0), n).with_exact_costs(cost)
    lower = Support(upper.columns * n + upper.rows, upper.costs, n)
    diagonal = Support(np.arange(n, dtype=np.int64) * (n + 1), np.zeros(n), n)
    support = upper.joined(lower).joined(diagonal)
    kernel = _SparseKernel(
        scipy.sparse.csr_matrix(
            (np.exp(-support.costs / epsilon), (support.rows, support.columns)), shape=(n, n)
        )
    )
    s, _, sweeps = solve_self(kernel, torch.from_numpy(weights), tolerance, limit, term, progress)
    potential = epsilon * np.log(s.numpy() / weights)
    dual = SparseDual(support, weights, weights, epsilon)
    dropped = float(np.sqrt(weights).sum() ** 2 * np.exp(-reach))
    return SparsePlan(dual, potential, potential, dropped, cost.entry_rounding()), sweeps


class _SparseKernel:
    """A sparse matrix that multiplies torch vectors."""

    def __init__(self, matrix: scipy.sparse.csr_matrix) -> None:
        self._matrix = matrix

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        return torch.from_numpy(self._matrix @ v.numpy())


def forecast_pairs(cost: Cost, a: Tensor, b: Tensor, epsilon: float) -> float:
    """How many pairs the plan between the whole clouds will have, about, from two samples.

    Among more points a pair has more rivals: the part of all pairs that carry mass falls as a power of
    their number.
    """
    parts = []
    for count in _FORECAST:
        rows, columns = weighted_sample(a, count), weighted_sample(b, count)
        tile = cost.restricted(rows, columns).tile(slice(0, len(rows)))
        f, g = anneal(tile, a[rows] / a[rows].sum(), b[columns] / b[columns].sum(), epsilon)
        tile -= f[:, None].to(tile.dtype)
        tile -= g.to(tile.dtype)
        parts.append(max(int((tile < _REACH * epsilon).sum()), 1) / tile.numel())
    n, m = cost.shape
    rate = math.log(parts[1] / parts[0]) / math.log(_FORECAST[1] / _FORECAST[0])
    power = min(0.0, max(-1.0, rate))
    larger = max(1.0, math.sqrt(n * m) / _FORECAST[1])
    # and some pairs of each row and column belong to the simplex, whether they carry mass or not
    return float(parts[1] * larger**power * n * m + _PAIRS_A_ROW * (n + m))


def starting_pairs(panels: Panels, f: Tensor, g: Tensor) -> Support:
    """The pairs of smallest reduced cost, about a dozen a row."""
    n, m = panels.cost.shape
    sample = _reduced_sample(panels, f, g)
    reach = float(sample.kthvalue(min(_PAIRS_A_ROW, m), dim=1).values.median())
    pairs = near_pairs(panels, f, g, reach, n * m)
    assert pairs is not None  # the limit is all pairs
    return pairs


def _reach(panels: Panels, f: Tensor, g: Tensor, pairs: int) -> float:
    """The reduced cost below which there are so many pairs a row, about."""
    sample = _reduced_sample(panels, f, g)
    count = min(pairs, sample.shape[1]) * sample.shape[0]
    return float(sample.view(-1).kthvalue(count).values)


def _reduced_sample(panels: Panels, f: Tensor, g: Tensor) -> Tensor:
    """Reduced costs of some rows."""
    n, _ = panels.cost.shape
    rows = torch.linspace(0, n - 1, min(n, 256), device=f.device).long()
    sample = panels.rows(rows)
    sample -= g.to(sample.dtype)
    sample -= f[rows, None].to(sample.dtype)
    return sample


def _report(progress: Progress, before: int, step: int, error: float) -> None:
    progress("xy", before + step, error)


def _on(potential: FloatArray, cost: Cost) -> Tensor:
    return torch.from_numpy(potential).to(cost.device, cost.wide)
