"""Solves one OT_ε: asks for the regime, runs its solver, certifies the answer."""

from __future__ import annotations

import torch

from otadtk.distances.certificate import certify
from otadtk.distances.cost import SquaredCost, accumulator
from otadtk.distances.duplicates import MergedCloud
from otadtk.distances.gibbs import GibbsKernel
from otadtk.distances.plan import Plan, Progress
from otadtk.distances.regime import Budget, choose_cross, choose_self, self_reach
from otadtk.distances.result import Coupling
from otadtk.distances.sharp import solve_sharp_cross, solve_sharp_self
from otadtk.distances.smooth import KernelPlan, solve_cross, solve_self

_ABSORPTIONS = 12
_CLIPPED = 1e-9
_PATIENCE = 200
"""Sweeps of a smooth problem after which the sharp way is tried."""


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
        if cost.symmetric:
            reach = self_reach(len(x.points))
            if choose_self(cost, self.epsilon, reach) == "sharp":
                return self._sharp_self(cost, x, reach, term)
            return self._smooth(cost, x, y, term, self.max_iterations)
        # what one way cannot do, the other may: a smooth problem can be slow, a sharp one dense
        first: Coupling | None = None
        if choose_cross(cost, self.epsilon) == "smooth":
            first = self._smooth(cost, x, y, term, min(_PATIENCE, self.max_iterations))
            if first.converged or self.max_iterations <= _PATIENCE:
                return first
        second = self._sharp_cross(cost, x, y)
        if second is None:
            return self._smooth(cost, x, y, term, self.max_iterations)
        return second if first is None or second.gap <= first.gap else first

    def _sharp_cross(self, cost: SquaredCost, x: MergedCloud, y: MergedCloud) -> Coupling | None:
        wide = accumulator(cost.device)
        a, b = x.weights.to(cost.device, wide), y.weights.to(cost.device, wide)
        solved = solve_sharp_cross(
            cost, a, b, self.epsilon, self.budget.sharp_kept_bytes, self.tolerance,
            self.max_iterations, self.progress,
        )  # fmt: skip
        return None if solved is None else self._certify(*solved, cost, x, y, "sharp")

    def _sharp_self(self, cost: SquaredCost, x: MergedCloud, reach: float, term: str) -> Coupling:
        a = x.weights.to(cost.device, accumulator(cost.device))
        plan, sweeps = solve_sharp_self(
            cost, a, self.epsilon, reach, self.max_iterations, term, self.progress, self._aim
        )
        return self._certify(plan, sweeps, cost, x, x, "sharp")

    def _smooth(
        self, cost: SquaredCost, x: MergedCloud, y: MergedCloud, term: str, limit: int
    ) -> Coupling:
        wide = accumulator(cost.device)
        a, b = x.weights.to(cost.device, wide), y.weights.to(cost.device, wide)
        potentials = None
        for attempt in range(1, _ABSORPTIONS + 1):
            kernel = GibbsKernel(cost, self.epsilon, self.budget.kept_bytes, potentials=potentials)
            if cost.symmetric:
                solved = solve_self(kernel, a, self._aim, limit, term, self.progress)
            else:
                solved = solve_cross(kernel, a, b, self._aim, limit, self.progress)
            u, v, sweeps = solved
            clipped = kernel.clipped_mass(u, v)
            if clipped <= _CLIPPED or attempt == _ABSORPTIONS:
                break
            # some mass must go where K underflows: absorb these potentials and look again
            f, g = kernel.f + self.epsilon * (u / a).log(), kernel.g + self.epsilon * (v / b).log()
            potentials = f, g
            kernel.release()  # before the next one takes its place in memory
        plan = KernelPlan(kernel, u, v, a, b, clipped)
        return self._certify(plan, sweeps, cost, x, y, "smooth")

    @property
    def _aim(self) -> float:
        """Marginal error (L1) to iterate to: well below the gap that counts as converged."""
        return min(1e-6, 0.1 * self.tolerance)

    def _certify(
        self,
        plan: Plan,
        iterations: int,
        cost: SquaredCost,
        x: MergedCloud,
        y: MergedCloud,
        regime: str,
    ) -> Coupling:
        # a sharp plan's costs come from differences: what is left is the points' own rounding
        exact = regime == "sharp" or self.dtype == torch.float64
        rounding = 1e-12 if exact else cost.rounding()
        return certify(
            plan, x.weights.numpy(), y.weights.numpy(), cost, self.epsilon,
            tolerance=self.tolerance, rounding=rounding, iterations=iterations, regime=regime,
        )  # fmt: skip
