"""The certificate: a feasible plan and the dual around every OT_ε, and what follows for ⟨T, C⟩.

Let T have marginals r, c close to a, b. Three plans are involved:

1. T₁ = T ∘ (1 + α ⊕ β), with (α, β) from the linear system that makes the marginals right
   (one Newton step on the plan, by conjugate gradients);
2. T′ = s T₁ + (remaining marginals as a rank-one plan Q), with the largest s ≤ 1 that leaves
   nothing negative: exactly feasible;
3. its value from above, by convexity of KL and log(1 + t) ≤ t:
   E(T₁) ≤ Σ r₁ f + Σ c₁ g + ε Σ T (1 + α ⊕ β)(α ⊕ β), in which C has cancelled.

The dual of the potentials is Σ a f + Σ b g − ε (Σ T − 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from otadtk.distances.cost import SquaredCost
from otadtk.distances.plan import Plan
from otadtk.distances.result import Coupling, FloatArray

_SAFETY = 2.0
"""Factor on the transport inequality, whose variance is that of T instead of T*."""


def certify(
    plan: Plan,
    a: FloatArray,
    b: FloatArray,
    cost: SquaredCost,
    epsilon: float,
    *,
    tolerance: float,
    rounding: float,
    iterations: int,
    regime: str,
) -> Coupling:
    """The coupling with both bounds, its gap and the error of its value."""
    sums = plan.sums
    step = _marginal_correction(plan, a, b, cost.symmetric)
    primal, moved = _feasible_value(plan, step, a, b, cost, epsilon)
    mass = float(sums.rows.sum()) + sums.dropped
    dual = float(a @ plan.f + b @ plan.g) - epsilon * (mass - 1.0)
    gap = max(primal - dual, 0.0)
    relative = gap / max(abs(primal), epsilon)
    value = float(sums.column_costs.sum())
    divergence = gap / epsilon  # KL(T′ | T*) at most
    spread = epsilon * float(np.sqrt(sums.variance))
    value_error = (
        moved
        + _SAFETY * spread * float(np.sqrt(2.0 * divergence))
        + _SAFETY * (spread + epsilon) * divergence
        + rounding * (1.0 + spread / epsilon)
    )
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


@dataclass(frozen=True)
class _Correction:
    """α, β and the products T β, Tᵀ α."""

    alpha: FloatArray
    beta: FloatArray
    plan_beta: FloatArray
    plan_alpha: FloatArray


def _marginal_correction(
    plan: Plan, a: FloatArray, b: FloatArray, symmetric: bool, goal: float = 1e-10, limit: int = 30
) -> _Correction:
    """Solves r α + T β = a − r, Tᵀ α + c β = b − c for the marginals r, c of the plan.

    Eliminating α leaves (c − Tᵀ r⁻¹ T) β = (b − c) − Tᵀ r⁻¹ (a − r), a weighted graph
    Laplacian. For a cloud with itself α = β and (r + T) α = a − r, which is well conditioned.
    Both by conjugate gradients, with the diagonal as preconditioner.
    """
    r, c = plan.sums.rows, plan.sums.columns
    zero = _Correction(np.zeros_like(a), np.zeros_like(b), np.zeros_like(a), np.zeros_like(b))
    if not (np.all(r > 0) and np.all(c > 0) and np.all(np.isfinite(r)) and np.all(np.isfinite(c))):
        return zero
    if symmetric:
        alpha = _conjugate_gradients(lambda z: r * z + plan.apply(z), a - r, r, goal, limit)
        beta = alpha
        plan_beta = plan_alpha = plan.apply(alpha)
    else:
        start = (a - r) / r
        right = (b - c) - plan.apply_transposed(start)
        right -= right.sum() * c / c.sum()  # the Laplacian's range: no mass is created
        beta = _conjugate_gradients(
            lambda z: c * z - plan.apply_transposed(plan.apply(z) / r), right, c, goal, limit
        )
        plan_beta = plan.apply(beta)
        alpha = start - plan_beta / r
        plan_alpha = plan.apply_transposed(alpha)
    if float(np.abs(alpha).max() + np.abs(beta).max()) >= 0.5:  # 1 + α ⊕ β must stay positive
        return zero
    return _Correction(alpha, beta, plan_beta, plan_alpha)


def _conjugate_gradients(
    operator: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    diagonal: FloatArray,
    goal: float,
    limit: int,
) -> FloatArray:
    """An approximate solution of operator(z) = right, to an L1 residual of ``goal``."""
    solution, residual = np.zeros_like(right), right
    preconditioned = residual / diagonal
    direction, weight = preconditioned, float(residual @ preconditioned)
    for _ in range(limit):
        if float(np.abs(residual).sum()) <= goal or weight <= 0:
            break
        image = operator(direction)
        curvature = float(direction @ image)
        if curvature <= 0:  # rounding has the last word
            break
        solution = solution + (weight / curvature) * direction
        residual = residual - (weight / curvature) * image
        preconditioned = residual / diagonal
        weight, last = float(residual @ preconditioned), weight
        direction = preconditioned + (weight / last) * direction
    return solution


def _feasible_value(
    plan: Plan,
    step: _Correction,
    a: FloatArray,
    b: FloatArray,
    cost: SquaredCost,
    epsilon: float,
) -> tuple[float, float]:
    """(an upper bound of T′'s entropic value, |⟨T − T′, C⟩|)."""
    sums, alpha, beta = plan.sums, step.alpha, step.beta
    r, c = sums.rows, sums.columns
    r1 = r * (1.0 + alpha) + step.plan_beta
    c1 = c * (1.0 + beta) + step.plan_alpha
    scale = min(1.0, float((a / r1).min()), float((b / c1).min()))
    # ε Σ T (1 + α ⊕ β)(α ⊕ β), the second-order price of the correction
    first = r @ alpha + c @ beta
    second = r @ (alpha * alpha) + c @ (beta * beta) + 2.0 * (alpha @ step.plan_beta)
    mass = float(r1.sum())
    inner = (float(r1 @ plan.f + c1 @ plan.g) + epsilon * float(first + second)) / mass
    inner -= epsilon * float(np.log(mass))
    left = np.maximum(a - scale * r1, 0.0)
    right = np.maximum(b - scale * c1, 0.0)
    rest = 1.0 - scale * mass
    corrected = float((1.0 + alpha) @ sums.row_costs + beta @ sums.column_costs)
    if rest <= 0.0 or left.sum() <= 0.0 or right.sum() <= 0.0:
        rest, outer, outer_cost = 0.0, 0.0, 0.0
    else:
        outer, outer_cost = _rank_one_value(
            left / left.sum(), right / right.sum(), a, b, cost, epsilon
        )
    value = float(sums.column_costs.sum())
    moved = abs((1.0 - rest) * corrected / mass + rest * outer_cost - value)
    return (1.0 - rest) * inner + rest * outer, moved


def _rank_one_value(
    p: FloatArray, q: FloatArray, a: FloatArray, b: FloatArray, cost: SquaredCost, epsilon: float
) -> tuple[float, float]:
    """(⟨p ⊗ q, C⟩ + ε KL(p ⊗ q | a ⊗ b), ⟨p ⊗ q, C⟩), in O(N d)."""
    mean_x = p @ cost.x.cpu().numpy()
    mean_y = q @ cost.y.cpu().numpy()
    norms = p @ cost.x_squared.cpu().numpy() + q @ cost.y_squared.cpu().numpy()
    transport = float(norms - 2.0 * (mean_x @ mean_y))
    entropy = _relative_entropy(p, a) + _relative_entropy(q, b)
    return transport + epsilon * entropy, transport


def _relative_entropy(p: FloatArray, a: FloatArray) -> float:
    """KL(p | a)."""
    inside = p > 0
    return float((p[inside] * np.log(p[inside] / a[inside])).sum())
