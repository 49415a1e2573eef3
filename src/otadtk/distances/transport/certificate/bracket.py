"""Bounds of the sharp value ⟨T*, C⟩, because OT_ε is concave in ε.

φ(ε) = OT_ε is a minimum of functions linear in ε, hence concave, with φ′(ε) = KL(T* | a ⊗ b). So
⟨T*, C⟩ = φ − ε φ′, and the tangent at ε lies above φ everywhere:

    φ(ε) + δ φ′(ε) ≥ φ(ε + δ)   ⇒   ⟨T*, C⟩ ≤ P + (ε/δ) (P − D(ε + δ))
    φ(ε) − δ φ′(ε) ≥ φ(ε − δ)   ⇒   ⟨T*, C⟩ ≥ P − (ε/δ) (P − D(ε − δ)),   δ ≤ ε

with P ≥ φ(ε) the value of a feasible plan and D(ε′) ≤ φ(ε′) any dual value at ε′ = ε / (1 + t). The
potentials at hand, moved by the best constant, give D(ε′) = Σ a f + Σ b g − ε′ log M(t), where
M(t) = Σ T exp(t ℓ) and ℓ = (f ⊕ g − C)/ε is the log density of T. Two moments of ℓ bound M.
"""

from __future__ import annotations

import math

import numpy as np

from otadtk.distances.arrays import FloatArray
from otadtk.distances.transport.certificate.plan import Plan

_STEPS = tuple(2.0**-k for k in range(24))
"""δ/ε: each gives a bound, the best one counts."""
_TAILS = (5.0, 10.0, 20.0, 40.0)
"""−ℓ beyond which T is bounded by exp ℓ instead of its moments."""


def transport_bracket(
    plan: Plan, a: FloatArray, b: FloatArray, epsilon: float, primal: float, slack: float
) -> tuple[float, float]:
    """(lower, upper): ⟨T*, C⟩ lies between, for any potentials of the plan.

    ``slack`` is by how much rounding may have moved the primal and the dual values.
    """
    dual = float(a @ plan.f + b @ plan.g) - slack
    primal += slack
    density = _LogDensity(plan, a, b, epsilon)
    lower, upper = -math.inf, math.inf
    for step in _STEPS:
        if step < 1.0:
            t = step / (1.0 - step)  # ε′ = ε − δ
            below = dual - epsilon / (1.0 + t) * density.log_moment(t)
            lower = max(lower, primal - (primal - below) / step)
        t = -step / (1.0 + step)  # ε′ = ε + δ
        above = dual - epsilon / (1.0 + t) * density.log_moment(t)
        upper = min(upper, primal + (primal - above) / step)
    return max(lower, 0.0), upper


class _LogDensity:
    """What is known about ℓ under T: its mass, mean, variance and largest value."""

    def __init__(self, plan: Plan, a: FloatArray, b: FloatArray, epsilon: float) -> None:
        sums = plan.sums
        self.mass, self.dropped = float(sums.rows.sum()), sums.dropped
        transport = float(sums.column_costs.sum())
        total = float(sums.rows @ plan.f + sums.columns @ plan.g) - transport  # ε Σ T ℓ
        self.mean, self.variance = total / (epsilon * self.mass), sums.variance
        # T_ij is at most the sum of its row and of its column
        by_row = float(np.log((sums.rows / a).max() / b.min()))
        by_column = float(np.log((sums.columns / b).max() / a.min()))
        self.largest = min(by_row, by_column)

    def log_moment(self, t: float) -> float:
        """The logarithm of M(t) at most, by eᶻ ≤ 1 + z + ½ z² exp(max z) with z = t (ℓ − mean)."""
        half = 0.5 * t * t * self.variance
        if t > 0:
            grown = self.mass * half * _exp(t * (self.largest - self.mean))
            grown += self.dropped * _exp(t * (self.largest - self.mean))
        else:
            # where ℓ < −tail, T exp(t ℓ) = a b exp((1 + t) ℓ) sums to exp(−(1 + t) tail) at most
            grown = min(
                self.mass * half * _exp(max(0.0, -t * (tail + self.mean)))
                + _exp(-(1.0 + t) * tail - t * self.mean)
                for tail in _TAILS
            )
            # left out: Σ T^(1 + t) (a b)^(−t) ≤ (Σ T)^(1 + t), by Hölder
            grown += self.dropped ** (1.0 + t) * _exp(-t * self.mean)
        return t * self.mean + math.log(self.mass + grown)


def _exp(exponent: float) -> float:
    return math.exp(min(exponent, 700.0))
