"""The certificate: a feasible plan and the dual around every OT_ε; ``bracket.py`` bounds ⟨T, C⟩.

Let T have marginals r, c close to a, b. Three plans are involved:

1. T₁ = T ∘ (1 + α ⊕ β), with (α, β) from the linear system that makes the marginals right
   (one Newton step on the plan, by conjugate gradients);
2. T₂ = diag(ρ) T₁ diag(σ), scaled down until no marginal is exceeded (Altschuler et al., 2017);
3. T′ = T₂ + (the missing marginals as a rank-one plan Q): exactly feasible.

The value of T′ is bounded from above by convexity of KL and log(1 + t) ≤ t: with the marginals
r₂, c₂ of T₂, E(T₂) ≤ Σ r₂ (f + ε α) + Σ c₂ (g + ε β), in which C has cancelled.

The dual of the potentials is Σ a f + Σ b g − ε (Σ T − 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.rounding import UNIT
from otadtk.distances.transport.certificate.bound import value_from_marginals
from otadtk.distances.transport.certificate.bracket import transport_bracket
from otadtk.distances.transport.certificate.plan import Plan, PlanSums
from otadtk.distances.transport.result import Coupling

_SAFETY = 2.0
"""Factor on effects that are known to first order only."""
_SMALL = 0.02
"""Rounding of a cost in units of ε, up to which its effect on ⟨T, C⟩ is of first order."""
_EXACT = 0.25
"""Entries of a correction up to which the solver's residual is trusted."""
_PRODUCTS = 8.0
"""Products of the correction that counts in its marginals, nearly all of it in the first few."""
_NARROW = 1e-2
"""Gap in units of the tolerance up to which the bound from the marginals alone is enough."""
_EMPTIEST = 1e-12
"""Share of its weight below which a row or column of a plan counts as empty."""


def certify(
    plan: Plan,
    a: FloatArray,
    b: FloatArray,
    cost: Cost,
    epsilon: float,
    *,
    tolerance: float,
    iterations: int,
    regime: str,
    correct: bool = True,
    bracket: bool = True,
) -> Coupling:
    """The coupling with both bounds, its gap and the error of its value.

    The bounds are those of the costs C̃ behind the plan; what the rounding of C̃ and of the sums may
    do to OT_ε is stated apart, and part of the error.
    Without ``correct`` step 1 is left out, and the bounds are as far apart as the marginals are off.
    Without ``bracket`` the error of the value is not bounded, which is to say infinite.
    """
    sums = plan.sums
    mass = float(sums.rows.sum()) + sums.dropped
    dual = float(a @ plan.f + b @ plan.g) - epsilon * (mass - 1.0)
    primal = float("inf")
    if plan.costly:
        primal = value_from_marginals(plan, a, b, cost, epsilon)
        correct = correct and primal - dual > _NARROW * tolerance * max(abs(primal), epsilon)
    goal = 1e-3 * tolerance
    if (
        correct and cost.symmetric
    ):  # missing mass travels at the mean cost, far above the value of a self term
        level = max(abs(float(a @ plan.f + b @ plan.g)), epsilon)
        weights = torch.from_numpy(a)
        goal *= level / max(level, cost.mean(weights, weights))
    scaled = _corrected(plan, a, b, cost.symmetric, goal) if correct else None
    if scaled is not None:
        primal = min(primal, _feasible_value(plan, scaled, a, b, cost, epsilon))
    if primal == np.inf or (scaled is not None and scaled.large):
        # log(1 + t) ≤ t gives away much: without it may be better
        plain = _uncorrected(plan, a, b)
        primal = min(primal, _feasible_value(plan, plain, a, b, cost, epsilon))
    primal += _SAFETY * sums.unpaid
    relative = max(primal - dual, 0.0) / max(abs(primal), epsilon)
    if not np.isfinite(relative):  # a plan beyond repair certifies nothing
        relative = float("inf")
    value = float(sums.column_costs.sum())
    moved = 0.0 if scaled is None else scaled.moved(sums)
    sum_error = _sum_error(plan, a, b, epsilon, moved)
    rounding = plan.rounding.mean(a, b) + sum_error
    value_error = float("inf")
    if bracket:
        shaken, slack = 0.0, rounding
        if plan.rounding.largest() <= _SMALL * epsilon:
            # d⟨T*, C⟩ = ⟨T*, dC⟩ − Cov(ℓ, dC): less than what the bracket makes of rough bounds
            deviation = float(np.sqrt(sums.variance))
            shaken = rounding + deviation * plan.rounding.root_mean_square(a, b)
            slack = sum_error
        lower, upper = transport_bracket(plan, a, b, epsilon, max(primal, dual), slack)
        value_error = max(value - lower, upper - value, 0.0) + _SAFETY * shaken + sums.cost_error
    return Coupling(
        value=value,
        primal=primal,
        dual=dual,
        gap=relative,
        row_error=float(np.abs(sums.rows - a).sum()),
        column_error=float(np.abs(sums.columns - b).sum()),
        row_costs=sums.row_costs,
        column_costs=sums.column_costs,
        value_error=value_error,
        cost_rounding=rounding,
        iterations=iterations,
        regime=regime,
        converged=bool(relative <= tolerance),
        potentials=(plan.f, plan.g),
    )


def _sum_error(plan: Plan, a: FloatArray, b: FloatArray, epsilon: float, moved: float) -> float:
    """Rounding of the bounds themselves: of float64 sums, and of products that move marginals."""
    unit = UNIT[torch.float64] * (len(a) + len(b) + 16)
    error = unit * float(a @ np.abs(plan.f) + b @ np.abs(plan.g) + epsilon)
    missed = float(np.abs(plan.sums.rows - a).sum() + np.abs(plan.sums.columns - b).sum())
    farthest = float(np.abs(plan.f).max() + np.abs(plan.g).max())
    return error + _PRODUCTS * plan.precision * max(missed, moved) * farthest


@dataclass(frozen=True)
class _Scaled:
    """T₂ by its marginals, and α, β of T₁."""

    rows: FloatArray
    columns: FloatArray
    alpha: FloatArray
    beta: FloatArray

    @property
    def large(self) -> bool:
        """Whether α ⊕ β is not small against 1."""
        return float(np.abs(self.alpha).max() + np.abs(self.beta).max()) >= 0.5

    def moved(self, sums: PlanSums) -> float:
        """Mass that the correction moves."""
        return float(sums.rows @ np.abs(self.alpha) + sums.columns @ np.abs(self.beta))


def _large(correction: FloatArray) -> bool:
    """Whether rounding may add up on the way to a correction: then its residual is computed anew."""
    return not float(np.abs(correction).max()) < _EXACT


def _at_most(weights: FloatArray, sums: FloatArray) -> FloatArray:
    """Factors up to 1 that bring the sums down to the weights."""
    return np.minimum(1.0, weights / np.maximum(sums, _EMPTIEST * weights))


def _uncorrected(plan: Plan, a: FloatArray, b: FloatArray) -> _Scaled:
    """T₂ of T₁ = T: rows and then columns are scaled down to at most a and b."""
    sums = plan.sums
    rho = _at_most(a, sums.rows)
    # products are taken of small differences: those of float32 panels are only relatively exact
    columns = sums.columns + plan.apply_transposed(rho - 1.0)
    sigma = _at_most(b, columns)
    rows = rho * (sums.rows + plan.apply(sigma - 1.0))
    return _Scaled(rows, columns * sigma, np.zeros_like(a), np.zeros_like(b))


def _corrected(
    plan: Plan, a: FloatArray, b: FloatArray, symmetric: bool, goal: float
) -> _Scaled | None:
    """T₂ of T₁ = T ∘ (1 + α ⊕ β), which has nearly the marginals a, b; None if T₁ is no plan.

    (α, β) solves r α + T β = a − r, Tᵀ α + c β = b − c for the marginals r, c of the plan. For a cloud
    with itself α = β and (r + T) α = a − r, which is well conditioned; otherwise α is eliminated
    (``Plan.column_correction``), and the rows are exact. What the solution leaves is scaled down.
    """
    r, c = plan.sums.rows, plan.sums.columns
    sound = np.isfinite(r).all() and np.isfinite(c).all()
    if not (sound and np.all(r > _EMPTIEST * a) and np.all(c > _EMPTIEST * b)):
        return None
    if symmetric:
        alpha, residual = plan.solve_both(a - r, goal)
        if _large(alpha):
            residual = a - r * (1.0 + alpha) - plan.apply(alpha)
        beta, plan_beta = alpha, a - r - residual - r * alpha
        rho = sigma = _at_most(a, a - residual)
        scaled, both = plan.apply(np.stack([sigma - 1.0, beta * (sigma - 1.0)], axis=1)).T
    else:
        beta, residual = plan.column_correction(a, b, goal)
        if _large(beta):
            alpha = (a - r - plan.apply(beta)) / r
            residual = b - c * (1.0 + beta) - plan.apply_transposed(alpha)
        rho, sigma = np.ones_like(a), _at_most(b, b - residual)
        vectors = np.stack([beta, sigma - 1.0, beta * (sigma - 1.0)], axis=1)
        plan_beta, scaled, both = plan.apply(vectors).T
        alpha = (a - r - plan_beta) / r
    if 1.0 + float(alpha.min() + beta.min()) <= 0.0:
        return None
    rows = rho * ((1.0 + alpha) * (r + scaled) + plan_beta + both)
    columns = rows if symmetric else sigma * (b - residual)
    return _Scaled(rows, columns, alpha, beta)


def _feasible_value(
    plan: Plan, scaled: _Scaled, a: FloatArray, b: FloatArray, cost: Cost, epsilon: float
) -> float:
    """An upper bound of T′'s entropic value."""
    row, column = scaled.rows, scaled.columns
    # T₂ = ρ T₁ σ: Σ T₂ log(T₂ / ab) ≤ Σ T₂ ((f + g − C)/ε + α + β), as log ρ, log σ ≤ 0
    mass = float(row.sum())
    inner = float(row @ plan.f + column @ plan.g)
    inner += epsilon * float(row @ scaled.alpha + column @ scaled.beta)
    inner = inner / mass - epsilon * float(np.log(mass))
    left, right = np.maximum(a - row, 0.0), np.maximum(b - column, 0.0)
    rest = float(left.sum())
    if rest <= 0.0 or right.sum() <= 0.0:
        return inner
    outer = _rank_one_value(left / rest, right / right.sum(), a, b, cost, epsilon)
    return (1.0 - rest) * inner + rest * outer


def _rank_one_value(
    p: FloatArray, q: FloatArray, a: FloatArray, b: FloatArray, cost: Cost, epsilon: float
) -> float:
    """⟨p ⊗ q, C⟩ + ε KL(p ⊗ q | a ⊗ b)."""
    transport = cost.mean(torch.from_numpy(p), torch.from_numpy(q))
    return transport + epsilon * (_relative_entropy(p, a) + _relative_entropy(q, b))


def _relative_entropy(p: FloatArray, a: FloatArray) -> float:
    """KL(p | a)."""
    inside = p > 0
    return float((p[inside] * np.log(p[inside] / a[inside])).sum())
