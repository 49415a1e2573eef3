"""Solves one OT_ε: asks for the regime, runs its solver, certifies the answer."""

from __future__ import annotations

import torch
from torch import Tensor

from otadtk.distances.annealing import coarse_potentials
from otadtk.distances.certificate import certify
from otadtk.distances.cost import SquaredCost, accumulator
from otadtk.distances.duplicates import MergedCloud
from otadtk.distances.gibbs import GibbsKernel, Kernel
from otadtk.distances.panels import CostPanels
from otadtk.distances.plan import Plan, Progress
from otadtk.distances.regime import Budget, choose_cross, choose_self, self_reach
from otadtk.distances.result import Coupling
from otadtk.distances.sharp import solve_sharp_cross, solve_sharp_self
from otadtk.distances.smooth import KernelPlan, solve_cross, solve_self
from otadtk.distances.spread import SpreadKernel
from otadtk.engine import Engine

_ABSORPTIONS = 12
_CLIPPED = 1e-9
_NEWTON_FROM, _NEWTON_STEPS, _NEWTON_PATIENCE = 1e-1, 60, 8
"""Marginal error (L1) below which Newton steps follow the sweeps that did not suffice; how many at
most; and in how many the gap must halve."""
_RADIUS, _LEAST_RADIUS = 8.0, 0.05
"""Largest Newton step of a potential in units of ε, at first and before giving up."""
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
        *,
        tight: bool = True,
        engine: Engine | None = None,
    ) -> None:
        """``tight`` bounds of a sharp cross term cost a linear system; without, they are looser.

        An ``engine`` takes the panels of a smooth problem that does not fit the memory here.
        """
        self.engine = engine
        self.epsilon, self.tolerance = epsilon, tolerance
        self.tight = tight
        self.max_iterations, self.budget = max_iterations, budget
        self.dtype, self.progress = dtype, progress

    def couple(self, x: MergedCloud, y: MergedCloud, term: str) -> Coupling:
        """The certified coupling of two clouds, or of one with itself (``x is y``)."""
        cost = SquaredCost(x.points, y.points, self.dtype)
        return self.couple_costs(cost, x.weights, y.weights, term)

    def couple_costs(self, cost: SquaredCost, a: Tensor, b: Tensor, term: str) -> Coupling:
        """The same for given costs, with float64 weights on the CPU."""
        if cost.symmetric:
            reach = self_reach(len(a))
            if choose_self(cost, self.epsilon, reach) == "sharp":
                return self._sharp_self(cost, a, reach, term)
            return self._smooth(cost, a, b, term, self.max_iterations)
        # what one way cannot do, the other may: a smooth problem can be slow, a sharp one dense
        first: Coupling | None = None
        if choose_cross(cost, self.epsilon) == "smooth":
            first = self._smooth(cost, a, b, term, min(_PATIENCE, self.max_iterations))
            if first.converged or self.max_iterations <= _PATIENCE:
                return first
        second = self._sharp_cross(cost, a, b, dense=first is not None)
        if second is None:
            second = self._annealed(cost, a, b, term)
        return second if first is None or second.gap <= first.gap else first

    def _sharp_cross(
        self, cost: SquaredCost, a: Tensor, b: Tensor, *, dense: bool
    ) -> Coupling | None:
        wide = accumulator(cost.device)
        a_, b_ = a.to(cost.device, wide), b.to(cost.device, wide)
        solved = solve_sharp_cross(
            cost, a_, b_, self.epsilon, self.budget.sharp_kept_bytes, self.tolerance,
            self.max_iterations, self.progress, dense=dense,
        )  # fmt: skip
        return None if solved is None else self._certify(*solved, cost, a, b, "sharp")

    def _sharp_self(self, cost: SquaredCost, a: Tensor, reach: float, term: str) -> Coupling:
        a_ = a.to(cost.device, accumulator(cost.device))
        plan, sweeps = solve_sharp_self(
            cost, a_, self.epsilon, reach, self.max_iterations, term, self.progress, self._aim
        )
        return self._certify(plan, sweeps, cost, a, a, "sharp")

    def _annealed(self, cost: SquaredCost, a: Tensor, b: Tensor, term: str) -> Coupling:
        """Sweeps in float64 from annealed potentials: those of far points are thousands of ε away."""
        cost, wide = cost.widened(), accumulator(cost.device)
        panels = CostPanels(cost, self.budget.kept_bytes)
        f, g = coarse_potentials(
            panels, a.to(cost.device, wide), b.to(cost.device, wide), self.epsilon
        )
        del panels  # before the kernel takes its place in memory
        return self._smooth(cost, a, b, term, self.max_iterations, (f, g))

    def _smooth(
        self,
        cost: SquaredCost,
        a: Tensor,
        b: Tensor,
        term: str,
        limit: int,
        potentials: tuple[Tensor, Tensor] | None = None,
    ) -> Coupling:
        wide = accumulator(cost.device)
        a_, b_ = a.to(cost.device, wide), b.to(cost.device, wide)
        for attempt in range(1, _ABSORPTIONS + 1):
            kernel = self._kernel(cost, potentials, self.budget.kept_bytes)
            if cost.symmetric:
                solved = solve_self(kernel, a_, self._aim, limit, term, self.progress)
            else:
                solved = solve_cross(kernel, a_, b_, self._aim, limit, self.progress)
            u, v, sweeps = solved
            clipped = kernel.clipped_mass(u, v)
            if clipped <= _CLIPPED or attempt == _ABSORPTIONS:
                break
            # some mass must go where K underflows: absorb these potentials and look again
            f, g = (
                kernel.f + self.epsilon * (u / a_).log(),
                kernel.g + self.epsilon * (v / b_).log(),
            )
            potentials = f, g
            kernel.release()  # before the next one takes its place in memory
        plan = KernelPlan(kernel, u, v, a_, b_, clipped)
        found = self._certify(plan, sweeps, cost, a, b, "smooth")
        hopeful = found.row_error + found.column_error < _NEWTON_FROM
        if self._clear(found) or cost.symmetric or not hopeful:
            return found
        kernel.release()
        return self._newton(plan, found, cost, a, b)

    def _newton(
        self, plan: KernelPlan, found: Coupling, cost: SquaredCost, a: Tensor, b: Tensor
    ) -> Coupling:
        """Newton steps in float64 where parts hardly exchange mass, as twins: there sweeps creep."""
        cost = cost.widened()
        wide = accumulator(cost.device)
        a_, b_ = a.to(cost.device, wide), b.to(cost.device, wide)
        potentials = torch.from_numpy(plan.f).to(a_), torch.from_numpy(plan.g).to(b_)
        kernel = self._kernel(cost, potentials, self.budget.wide_kept_bytes)
        sweeps, radius = found.iterations, _RADIUS
        plan = KernelPlan(kernel, a_, b_, a_, b_, kernel.clipped_mass(a_, b_))
        gaps = [found.gap]
        for step in range(1, min(_NEWTON_STEPS, self.max_iterations - sweeps) + 1):
            u, v = plan.newton_step(a_, b_, 0.01 * (found.row_error + found.column_error), radius)
            moved, better = plan, found
            if bool(u.isfinite().all() and v.isfinite().all()):
                moved = KernelPlan(kernel, u, v, a_, b_, kernel.clipped_mass(u, v))
                better = self._certify(moved, sweeps + step, cost, a, b, "smooth")
            uphill = better.dual > found.dual or better.gap < found.gap
            radius *= 2.0 if uphill else 0.125
            if uphill:
                plan, found = moved, better
            gaps.append(found.gap)
            creeping = step > _NEWTON_PATIENCE and gaps[-1] > 0.5 * gaps[-1 - _NEWTON_PATIENCE]
            if self._clear(found) or radius < _LEAST_RADIUS or creeping:
                break
        return found

    def _clear(self, found: Coupling) -> bool:
        """Whether the gap is well below the tolerance: the error bar is many times the gap."""
        return found.gap <= 0.1 * self.tolerance

    def _kernel(
        self, cost: SquaredCost, potentials: tuple[Tensor, Tensor] | None, memory: int
    ) -> Kernel:
        if self.engine is not None and self.budget.streaming and cost.device.type == "cpu":
            return SpreadKernel(self.engine, cost, self.epsilon, memory, potentials)
        return GibbsKernel(cost, self.epsilon, memory, potentials=potentials)

    @property
    def _aim(self) -> float:
        """Marginal error (L1) to iterate to: well below the gap that counts as converged."""
        return 0.1 * self.tolerance

    def _certify(
        self,
        plan: Plan,
        iterations: int,
        cost: SquaredCost,
        a: Tensor,
        b: Tensor,
        regime: str,
    ) -> Coupling:
        # a sharp plan's costs come from differences: what is left is the points' own rounding
        exact = regime == "sharp" or cost.dtype == torch.float64
        rounding = 1e-12 if exact else cost.rounding()
        return certify(
            plan, a.numpy(), b.numpy(), cost, self.epsilon,
            tolerance=self.tolerance, rounding=rounding, iterations=iterations, regime=regime,
            correct=self.tight or regime != "sharp" or cost.symmetric,
        )  # fmt: skip
