"""Solves one OT_ε by the ladder of regimes and fallbacks, steps 1 to 7 of the package docstring."""

from __future__ import annotations

import torch
from torch import Tensor

from otadtk.distances.costs.duplicates import MergedCloud
from otadtk.distances.costs.panels import Panels, Workspace
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.backend import HERE, Backend
from otadtk.distances.transport.certificate.certify import certify
from otadtk.distances.transport.certificate.plan import Plan, Progress
from otadtk.distances.transport.dense.batched import LARGEST, small_potentials
from otadtk.distances.transport.dense.gibbs import GibbsKernel, Potentials
from otadtk.distances.transport.dense.smooth import KernelPlan, solve_cross, solve_self
from otadtk.distances.transport.dense.tiled import TiledCross, TiledSelf, start, tiled_kernel
from otadtk.distances.transport.memory import MemoryBudget
from otadtk.distances.transport.regime import choose_cross, choose_self, self_reach
from otadtk.distances.transport.result import Coupling
from otadtk.distances.transport.sparse.annealing import coarse_potentials
from otadtk.distances.transport.sparse.sharp import (
    forecast_pairs,
    solve_sharp_cross,
    solve_sharp_self,
)

# Why each has its value, and what it trades: docs/understand/solver.md.
_ROUNDED = 1e-6
"""Step 1a: rounding of the costs in units of ε, up to which they need not come from differences."""
TILED_FROM, _TILED_GOAL = 2000, 2e-4
"""Step 2d: points a side, and marginal error (L1) in units of the tolerance to end with."""
_PATIENCE = 200
"""Step 2: sweeps of a smooth problem after which step 3 is tried."""
_ABSORPTIONS, _CLIPPED = 12, 1e-9
"""Step 2a: how often potentials are absorbed at most, and the clipped mass that is not worth it."""
_NEWTON_FROM, _NEWTON_STEPS, _NEWTON_PATIENCE = 1e-1, 60, 8
"""Step 2c: marginal error (L1) below which Newton steps follow the sweeps; how many at most; and in
how many the gap must halve."""
_RADIUS, _LEAST_RADIUS = 8.0, 0.05
"""Step 2c: largest Newton step of a potential in units of ε, at first and before giving up."""


class Coupler:
    """Solves the terms of a divergence, which have ε, tolerance and memory in common."""

    def __init__(
        self,
        epsilon: float,
        tolerance: float,
        max_iterations: int,
        budget: MemoryBudget,
        dtype: torch.dtype,
        progress: Progress,
        *,
        tight: bool = True,
        backend: Backend = HERE,
    ) -> None:
        """``tight=False`` saves time: looser bounds of sharp cross terms, and no error bars.

        The ``backend`` makes the Gibbs kernels.
        """
        self.backend, self._workspace = backend, Workspace()
        self.epsilon, self.tolerance = epsilon, tolerance
        self.tight = tight
        self.max_iterations, self.budget = max_iterations, budget
        self.dtype, self.progress = dtype, progress

    def cost(self, x: MergedCloud, y: MergedCloud) -> SquaredCost:
        """The costs between two clouds, as exact as this problem needs them."""
        return SquaredCost(x.points, y.points, self.dtype)

    def couple(
        self, x: MergedCloud, y: MergedCloud, term: str, cost: Cost | None = None
    ) -> Coupling:
        """The certified coupling of two clouds, or of one with itself (``x is y``).

        ``cost`` is ``cost(x, y)``, where the caller has it already.
        """
        return self.couple_costs(cost or self.cost(x, y), x.weights, y.weights, term)

    def couple_costs(self, cost: Cost, a: Tensor, b: Tensor, term: str) -> Coupling:
        """The same for given costs, with float64 weights on the CPU."""
        with torch.inference_mode():  # saves a tenth of the time of small problems
            return self._couple(cost, a, b, term)

    def _couple(self, cost: Cost, a: Tensor, b: Tensor, term: str) -> Coupling:
        """The ladder."""
        small = self._small(cost)
        if cost.symmetric:  # steps 1 and 6
            reach = self_reach(len(a))
            if not small and choose_self(cost, self.epsilon, reach) == "sharp":
                return self._sharp_self(cost, a, reach, term)
            return self._smooth(cost, a, b, term, self.max_iterations)
        first: Coupling | None = None
        smooth = choose_cross(cost, self.epsilon) == "smooth"
        if small and not smooth:
            first = self._few(cost, a, b)  # step 1a
            if first.converged:
                return first
        elif smooth:  # steps 1 and 2
            first = self._smooth(cost, a, b, term, min(_PATIENCE, self.max_iterations))
            if first.converged or self.max_iterations <= _PATIENCE:
                return first
        elif min(cost.shape) >= TILED_FROM and self.budget.streaming:
            # hours in tiles, only to find that the plan is too large: said before it starts
            pairs = forecast_pairs(cost, a.to(cost.device), b.to(cost.device), self.epsilon)
            self.budget.check_plan(pairs, self.epsilon)
        second = self._sharp_cross(cost, a, b, dense=first is not None)  # step 3
        if second is None:
            second = self._annealed(cost, a, b, term)  # step 4
        return second if first is None or second.gap <= first.gap else first  # step 5

    def _small(self, cost: Cost) -> bool:
        """Whether dense Newton steps in float64 are the fastest way: the plan needs no scipy."""
        exact = cost.dtype == torch.float64 and cost.device.type == "cpu"
        few = exact and max(cost.shape) <= LARGEST and self.max_iterations > _PATIENCE
        return few and cost.rounding().largest() <= _ROUNDED * self.epsilon

    def _few(self, cost: Cost, a: Tensor, b: Tensor) -> Coupling:
        """Step 1a: annealed, by dense Newton steps."""
        matrix = cost.tile(slice(0, len(a))).div_(self.epsilon)
        f, g, steps = small_potentials(matrix, a, b)
        potentials = self.epsilon * f, self.epsilon * g
        kernel = self._kernel(cost, potentials, self.budget.kept_bytes)
        plan = KernelPlan(kernel, a, b, a, b, kernel.clipped_mass(a, b))
        found = self._certify(plan, steps, cost, a, b, "sharp")
        self.progress("xy", steps, found.row_error + found.column_error)
        return found

    def _sharp_cross(self, cost: Cost, a: Tensor, b: Tensor, *, dense: bool) -> Coupling | None:
        """Step 3; ``None`` if the plan is not sparse."""
        self._workspace.clear()  # which has other panels
        wide = cost.wide
        a_, b_ = a.to(cost.device, wide), b.to(cost.device, wide)
        solved = solve_sharp_cross(
            cost, a_, b_, self.epsilon, self.budget.sharp_kept_bytes, self.tolerance,
            self.max_iterations, self.progress, dense=dense,
        )  # fmt: skip
        return None if solved is None else self._certify(*solved, cost, a, b, "sharp")

    def _sharp_self(self, cost: Cost, a: Tensor, reach: float, term: str) -> Coupling:
        """Step 6a."""
        self._workspace.clear()  # which has other panels
        a_ = a.to(cost.device, cost.wide)
        plan, sweeps = solve_sharp_self(
            cost, a_, self.epsilon, reach, self.max_iterations, term, self.progress, self._aim
        )
        return self._certify(plan, sweeps, cost, a, a, "sharp")

    def _annealed(self, cost: Cost, a: Tensor, b: Tensor, term: str) -> Coupling:
        """Step 4, in float64: the potentials of far points are thousands of ε away."""
        self._workspace.clear()  # which has other panels
        cost, wide = cost.widened(), cost.wide
        panels = Panels(cost, self.budget.kept_bytes)
        f, g = coarse_potentials(
            panels, a.to(cost.device, wide), b.to(cost.device, wide), self.epsilon
        )
        del panels  # before the kernel takes its place in memory
        return self._smooth(cost, a, b, term, self.max_iterations, (f, g))

    def _smooth(
        self,
        cost: Cost,
        a: Tensor,
        b: Tensor,
        term: str,
        limit: int,
        potentials: Potentials | None = None,
    ) -> Coupling:
        """Step 2, from given potentials or the best that are cheap; of a cloud with itself, step 6b."""
        wide = cost.wide
        a_, b_ = a.to(cost.device, wide), b.to(cost.device, wide)
        if potentials is None and isinstance(cost, SquaredCost) and self._in_tiles(cost):
            tiled = self._tiled(cost, a, b, term, limit)
            if tiled is not None and self._clear(tiled):
                return tiled
        for attempt in range(1, _ABSORPTIONS + 1):
            kernel = self._kernel(cost, potentials, self.budget.kept_bytes)
            if cost.symmetric:
                start = None if kernel.near is None else 0.5 * a_.log() - kernel.f / self.epsilon
                solved = solve_self(kernel, a_, self._aim, limit, term, self.progress, start)
            else:
                solved = solve_cross(kernel, a_, b_, self._aim, limit, self.progress)
            u, v, sweeps = solved
            clipped = kernel.clipped_mass(u, v)
            if clipped <= _CLIPPED or attempt == _ABSORPTIONS:
                break
            # step 2a: some mass must go where K underflows
            f, g = (
                kernel.f + self.epsilon * (u / a_).log(),
                kernel.g + self.epsilon * (v / b_).log(),
            )
            potentials = f, g
            kernel.release()  # before the next one takes its place in memory
        plan = KernelPlan(kernel, u, v, a_, b_, clipped)
        found = self._certify(plan, sweeps, cost, a, b, "smooth")  # step 2b
        hopeful = found.row_error + found.column_error < _NEWTON_FROM
        if self._clear(found) or cost.symmetric or not hopeful:
            return found
        kernel.release()
        return self._newton(plan, found, cost, a, b)

    def _in_tiles(self, cost: Cost) -> bool:
        """Whether costs are computed anew in every sweep, here and often enough to save sweeps."""
        large = min(cost.shape) >= TILED_FROM
        return (
            large and self.budget.streaming and self.backend is HERE and cost.device.type == "cpu"
        )

    def _tiled(
        self, cost: SquaredCost, a: Tensor, b: Tensor, term: str, limit: int
    ) -> Coupling | None:
        """Step 2d: few sweeps, by Newton steps on a sparse stand-in for the plan."""
        f, g = start(cost, a, b, self.epsilon)
        goal, memory = _TILED_GOAL * self.tolerance, self.budget.kept_bytes
        kernel = tiled_kernel(cost, self.epsilon, f, g)
        tiled = TiledSelf(kernel, a, f, term) if cost.symmetric else TiledCross(kernel, a, b, g)
        solved = tiled.solve(goal, limit, memory, self.progress)
        return None if solved is None else self._certify(*solved, cost, a, b, "smooth")

    def _newton(
        self, plan: KernelPlan, found: Coupling, cost: Cost, a: Tensor, b: Tensor
    ) -> Coupling:
        """Step 2c: Newton steps, where sweeps creep because parts hardly exchange mass.

        In float64, but for costs of a pool, which are no more exact in it.
        """
        self._workspace.clear()
        cost = cost.widened()
        wide = cost.wide
        a_, b_ = a.to(cost.device, wide), b.to(cost.device, wide)
        potentials = torch.from_numpy(plan.f).to(a_), torch.from_numpy(plan.g).to(b_)
        kernel = self._kernel(cost, potentials, self.budget.wide_kept_bytes)
        sweeps, radius = found.iterations, _RADIUS
        plan = KernelPlan(kernel, a_, b_, a_, b_, kernel.clipped_mass(a_, b_))
        gaps = [found.gap]
        for step in range(1, min(_NEWTON_STEPS, self.max_iterations - sweeps) + 1):
            u, v = plan.newton_step(a_, b_, 0.01 * (found.row_error + found.column_error), radius)
            moved, better = plan, found
            if _has_logarithm(u) and _has_logarithm(v):
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

    def _kernel(self, cost: Cost, potentials: Potentials | None, memory: int) -> GibbsKernel:
        if potentials is not None:  # as panels can hold them: what is subtracted is what is known
            f, g = (side.to(cost.dtype).to(cost.wide) for side in potentials)
            potentials = f, g
        return self.backend.kernel(
            cost, self.epsilon, memory, potentials, streaming=self.budget.streaming,
            workspace=self._workspace,
        )  # fmt: skip

    @property
    def _aim(self) -> float:
        """Marginal error (L1) to iterate to: well below the gap that counts as converged."""
        return 0.1 * self.tolerance

    def _certify(
        self,
        plan: Plan,
        iterations: int,
        cost: Cost,
        a: Tensor,
        b: Tensor,
        regime: str,
    ) -> Coupling:
        """Step 7."""
        return certify(
            plan, a.numpy(), b.numpy(), cost, self.epsilon,
            tolerance=self.tolerance, iterations=iterations, regime=regime,
            correct=self.tight or regime != "sharp" or cost.symmetric, bracket=self.tight,
        )  # fmt: skip


def _has_logarithm(scaling: Tensor) -> bool:
    """Whether a scaling gives finite potentials: a step too far overflows, or underflows to zero."""
    return bool(scaling.isfinite().all() and (scaling > 0).all())
