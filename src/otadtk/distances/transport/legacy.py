"""The arithmetic of the published package otadtk 0.1.2, so that its scores can be checked.

It alternates soft minima in float32 on an unshifted N×M cost, at most 200 times, and stops
earlier only if no f_i moved by 1e-6. The plan is used as it stands then. Its certificate here is
ours: it says how far from converged the published number was.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.rounding import Rounding, sum_rounding
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.certificate.certify import certify
from otadtk.distances.transport.certificate.plan import Plan, PlanSums
from otadtk.distances.transport.result import Coupling

COMPAT = "otadtk-0.1.2"
_ITERATIONS = 200
_STOP = 1e-6


def legacy_coupling(x: Tensor, y: Tensor, epsilon: float, tolerance: float) -> Coupling:
    """The coupling that otadtk 0.1.2 computes, with uniform weights."""
    x, y = x.float(), y.float()
    distances = torch.cdist(x, y)  # not centred, and by products for more than 25 points, as there
    cost = distances.pow(2)
    n, m = cost.shape
    log_a, log_b = -math.log(n), -math.log(m)
    f, g = cost.new_zeros(n), cost.new_zeros(m)
    iterations = 0
    for _ in range(_ITERATIONS):
        before, iterations = f, iterations + 1
        f = -epsilon * torch.logsumexp((g - cost) / epsilon + log_b, dim=1)
        g = -epsilon * torch.logsumexp((f[:, None] - cost) / epsilon + log_a, dim=0)
        if float((f - before).abs().max()) < _STOP:
            break
    plan = torch.exp((f[:, None] + g - cost) / epsilon + log_a + log_b)
    a, b = np.full(n, 1.0 / n), np.full(m, 1.0 / m)
    return certify(
        _MatrixPlan(plan, cost, f, g, epsilon), a, b, SquaredCost(x, y), epsilon,
        tolerance=tolerance, iterations=iterations, regime="legacy",
    )  # fmt: skip


class _MatrixPlan(Plan):
    """A plan held as a matrix."""

    def __init__(self, plan: Tensor, cost: Tensor, f: Tensor, g: Tensor, epsilon: float) -> None:
        self.f, self.g = _numpy(f), _numpy(g)
        self.rounding = Rounding(0.0 * self.f, 0.0 * self.g)  # it is what it is
        self.precision = sum_rounding(max(cost.shape), torch.float64)
        self._plan, cost_ = plan.double(), cost.double()
        product = self._plan * cost_
        log_density = (f.double()[:, None] + g.double() - cost_) / epsilon
        mass = self._plan.sum()
        mean = (self._plan * log_density).sum() / mass
        self.sums = PlanSums(
            rows=_numpy(self._plan.sum(dim=1)),
            columns=_numpy(self._plan.sum(dim=0)),
            row_costs=_numpy(product.sum(dim=1)),
            column_costs=_numpy(product.sum(dim=0)),
            variance=float((self._plan * (log_density - mean).square()).sum() / mass),
        )

    def apply(self, beta: FloatArray) -> FloatArray:
        """T β."""
        return _numpy(self._plan @ torch.from_numpy(beta).to(self._plan))

    def apply_transposed(self, alpha: FloatArray) -> FloatArray:
        """Tᵀ α."""
        return _numpy(self._plan.T @ torch.from_numpy(alpha).to(self._plan))


def _numpy(tensor: Tensor) -> FloatArray:
    array: FloatArray = tensor.cpu().double().numpy()
    return array
