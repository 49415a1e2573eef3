"""Solves one OT_ε: asks for the regime, runs its solver, certifies the answer."""

from __future__ import annotations

from collections.abc import Callable

import torch

from otadtk.distances.certificate import certify
from otadtk.distances.cost import SquaredCost, accumulator
from otadtk.distances.duplicates import MergedCloud
from otadtk.distances.gibbs import GibbsKernel
from otadtk.distances.regime import Budget
from otadtk.distances.result import Coupling
from otadtk.distances.smooth import KernelPlan, solve_cross, solve_self

Progress = Callable[[str, int, float], None]


class Coupler:
    """Everything that the three terms of a divergence have in common."""

    def __init__(
        self,
        epsilon: float,
        tolerance: float,
        max_iterations: int,
        budget: Budget,
        dtype: torch.dtype,
        progress: Progress,
    ) -> None:
        self.epsilon, self.tolerance = epsilon, tolerance
        self.max_iterations, self.budget = max_iterations, budget
        self.dtype, self.progress = dtype, progress

    def couple(self, x: MergedCloud, y: MergedCloud, term: str) -> Coupling:
        """The certified coupling of two clouds, or of one with itself (``x is y``)."""
        cost = SquaredCost(x.points, y.points, self.dtype)
        return self._smooth(cost, x, y, term)

    def _smooth(self, cost: SquaredCost, x: MergedCloud, y: MergedCloud, term: str) -> Coupling:
        wide = accumulator(cost.device)
        a, b = x.weights.to(cost.device, wide), y.weights.to(cost.device, wide)
        kernel = GibbsKernel(cost, self.epsilon, self.budget.kept_bytes)
        aim = min(1e-6, 0.1 * self.tolerance)
        if cost.symmetric:
            u, v, sweeps = solve_self(kernel, a, aim, self.max_iterations, term, self.progress)
        else:
            u, v, sweeps = solve_cross(kernel, a, b, aim, self.max_iterations, self.progress)
        plan = KernelPlan(kernel, u, v, a, b)
        return certify(
            plan, x.weights.numpy(), y.weights.numpy(), cost, self.epsilon,
            tolerance=self.tolerance, rounding=cost.rounding(), iterations=sweeps, regime="smooth",
        )  # fmt: skip
