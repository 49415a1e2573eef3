"""An upper bound of OT_ε from the marginals of a plan alone, where a product with it takes long.

Let T have the marginals r, c. With ρ = min(1, a/r) and σ = min(1, b/c), T₂ = diag(ρ) T diag(σ) exceeds
no marginal: its rows are ρ r − w and its columns σ c − z, where w = ρ T (1 − σ) and z = σ Tᵀ (1 − ρ) are
not known but have little mass: Σ w ≤ Σ c (1 − σ) and Σ z ≤ Σ r (1 − ρ). What is missing is added as
a rank-one plan. The bound grows in proportion to the error of the marginals, so that these have to be
nearly right.
"""

from __future__ import annotations

import math

import numpy as np

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.transport.certificate.plan import Plan


def value_from_marginals(
    plan: Plan, a: FloatArray, b: FloatArray, cost: Cost, epsilon: float
) -> float:
    """An upper bound of the entropic value of a feasible plan."""
    r, c = plan.sums.rows, plan.sums.columns
    if not (np.isfinite(r).all() and np.isfinite(c).all() and r.min() > 0 and c.min() > 0):
        return math.inf
    rho, sigma = np.minimum(1.0, a / r), np.minimum(1.0, b / c)
    row, column = rho * r, sigma * c
    of_rows, of_columns = float(c @ (1.0 - sigma)), float(r @ (1.0 - rho))  # Σ w, Σ z at most
    rest = min(
        max(1.0 - float(row.sum()), 0.0) + of_rows,
        max(1.0 - float(column.sum()), 0.0) + of_columns,
    )
    # both sides of T₂ have the same mass: a constant may go from f to g, as suits the bound
    inner = min(
        float(row @ (plan.f - shift) + column @ (plan.g + shift))
        + of_rows * max(0.0, shift - float(plan.f.min()))
        + of_columns * max(0.0, -shift - float(plan.g.min()))
        for shift in (float(plan.f.min()), 0.0, -float(plan.g.min()))
    )
    thinnest_a = _share(a, row) + float((r / a).max()) * float((1.0 - sigma).max())
    thinnest_b = _share(b, column) + float((c / b).max()) * float((1.0 - rho).max())
    entropy = _times_logarithm(rest, thinnest_a) + _times_logarithm(rest, thinnest_b)
    return float(inner + rest * (cost.largest() + epsilon) + epsilon * entropy)


def _share(weights: FloatArray, sums: FloatArray) -> float:
    """The largest part of its weight that a row lacks."""
    return float(np.maximum(1.0 - sums / weights, 0.0).max())


def _times_logarithm(mass: float, most: float) -> float:
    """The largest x log(most / x) for 0 ≤ x ≤ mass: it grows up to x = most / e."""
    if mass <= 0.0:
        return 0.0
    return mass * math.log(most / mass) if mass < most / math.e else most / math.e
