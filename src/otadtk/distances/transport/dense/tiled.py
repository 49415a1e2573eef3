"""The smooth regime in tiles: few sweeps, because most of the work is done on a sparse stand-in.

Costs that do not fit the memory are computed anew in every sweep, which is all that counts here. The
sweeps start from the potentials of a sample (``start``). The first one draws the stand-in
(``surrogate.py``); each next one takes a Newton step that was computed on it, and leaves some per cent
of the residual. The last one is that of the certificate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor

from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.certificate.plan import Progress, no_progress
from otadtk.distances.transport.dense.anderson import Anderson
from otadtk.distances.transport.dense.gibbs import EXPONENT_FLOOR, NEAR, PanelKernel, Potentials
from otadtk.distances.transport.dense.products import wide_product
from otadtk.distances.transport.dense.smooth import KernelPlan, solve_cross, solve_self
from otadtk.distances.transport.dense.surrogate import Sampler, Surrogate
from otadtk.distances.transport.sparse.annealing import soft_minimum, weighted_sample

SAMPLE = 4000
"""Points of each cloud whose potentials are the start, at most a quarter of the cloud."""
_FEWEST = 250
_SAMPLE_GOAL = 1e-4
_WIDE_FROM = 1e-4
"""Marginal error (L1) from which on sums are wide: in float32 they end at 1e-7."""
_LIKELY, _NEAR = 2.0, 4.0
"""Multiples of the goal: up to which the last sweep is tried, and up to which it is not repeated."""
_FAR = 0.05
"""Marginal error (L1) after which the stand-in is drawn anew."""
_NOTHING = 1e-300
"""Nothing is divided by less."""
_PIECE_ELEMENTS = 1 << 18
_FIRST_RATE, _LEAST_RATE, _STALLED = 0.05, 0.01, 0.7
"""What a step is expected to leave of the error: before one was seen, and at best; and from what on
steps are of no use."""


def start(cost: Cost, a: Tensor, b: Tensor, epsilon: float) -> Potentials:
    """(f, g) of all points: those of a sample of each cloud, extended by one soft minimum."""
    rows, columns = (
        weighted_sample(side, min(SAMPLE, max(_FEWEST, len(side) // 4))) for side in (a, b)
    )
    if cost.symmetric:
        extended = _self_start(cost, rows, a, epsilon)
        return extended, extended
    weights_a, weights_b = a[rows] / a[rows].sum(), b[columns] / b[columns].sum()
    sample = cost.restricted(rows, columns)
    kernel = PanelKernel(sample, epsilon, sample.item_bytes * len(rows) * len(columns))
    u, v, _ = solve_cross(kernel, weights_a, weights_b, _SAMPLE_GOAL, 100, no_progress)
    f = kernel.f + epsilon * (u / weights_a).log()
    g = kernel.g + epsilon * (v / weights_b).log()
    del kernel
    all_g = soft_minimum(cost.restricted(rows), f, weights_a, epsilon)
    all_f = soft_minimum(cost.transposed().restricted(columns), g, weights_b, epsilon)
    return all_f, all_g


def _self_start(cost: Cost, rows: Tensor, a: Tensor, epsilon: float) -> Tensor:
    """The potential of a cloud with itself, from a sample.

    Most of the mass may stay where it is: a point is its own partner with its own weight a_i, and the
    others of the sample stand for all others, with larger weights. So the diagonal counts apart, in the
    sample and where a_i t² + S_i t = 1 is solved for the others S_i of every point.
    """
    share = float(a[rows].sum())
    weights = a[rows] / share
    tile = cost.restricted(rows, rows).tile(slice(0, len(rows)))
    kernel = tile.mul_(-1.0 / epsilon).clamp_(min=EXPONENT_FLOOR).exp_()
    kernel.diagonal().fill_(share)
    s, _, _ = solve_self(_Matrix(kernel), weights, _SAMPLE_GOAL, 100, "", no_progress)
    del kernel, tile
    potential = epsilon * (s / weights).log()
    others = (-soft_minimum(cost.restricted(rows), potential, weights, epsilon) / epsilon).exp()
    others[rows] = (others[rows] - s).clamp(min=0.0)
    return epsilon * (2.0 / (others + (others.square() + 4.0 * a).sqrt())).log()


class _Matrix:
    """A matrix that multiplies wide vectors."""

    def __init__(self, matrix: Tensor) -> None:
        self._matrix = matrix

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        return (self._matrix @ v.to(self._matrix.dtype)).to(v.dtype)


def tiled_kernel(cost: SquaredCost, epsilon: float, f: Tensor, g: Tensor) -> PanelKernel:
    """The kernel of a term that is swept in tiles; it absorbs f and g unless all points are near."""
    near = 2.0 * cost.largest_product() <= NEAR * epsilon
    return PanelKernel(cost, epsilon, 0, potentials=None if near else (f, g))


class TiledTerm(ABC):
    """A term that is solved by sweeps from one logarithmic scaling to the next."""

    error = math.inf
    """Of the marginals (L1), at the last sweep."""
    plan: KernelPlan | None = None
    """That of the last sweep, if it was one for the certificate."""

    def __init__(self, kernel: PanelKernel, name: str, point: Tensor) -> None:
        self._kernel, self._name, self._point = kernel, name, point
        self._filling = 1.0

    @abstractmethod
    def sweep(self, point: Tensor, sampler: Sampler | None, *, wide: bool) -> None:
        """One pass at a scaling."""

    @abstractmethod
    def certify(self, point: Tensor) -> None:
        """The same, with all sums for the certificate."""

    @abstractmethod
    def step(self, surrogate: Surrogate) -> Tensor:
        """The Newton step after the last sweep."""

    @abstractmethod
    def sampler(self, memory: int) -> Sampler:
        """For the first sweep."""

    def solve(
        self,
        goal: float,
        limit: int,
        memory: int,
        progress: Progress,
    ) -> tuple[KernelPlan, int] | None:
        """(plan, sweeps), with an error up to the goal or as small as it gets; None if it is lost."""
        mixing, point = Anderson(), self._point
        surrogate = self._draw(point, memory)
        last, rate = math.inf, _FIRST_RATE
        for sweep in range(1, limit + 1):
            progress(self._name, sweep, self.error)
            if not math.isfinite(self.error):
                return None
            rate = rate if last == math.inf else max(_LEAST_RATE, self.error / max(last, _NOTHING))
            stalled = rate > _STALLED or sweep >= limit - 1
            if self.plan is not None and (self.error <= _NEAR * goal or stalled):
                return self.plan, sweep
            last = self.error
            point = mixing.step(point, self.step(surrogate))
            if last > _FAR:
                # the plan changes so much that other entries count
                del surrogate  # before the next one takes its place in memory
                surrogate, mixing = self._draw(point, memory), Anderson()
            elif self.plan is not None or stalled or rate * last <= _LIKELY * goal:
                self.certify(point)
            else:
                self.sweep(point, None, wide=rate * last < _WIDE_FROM)
        return None

    def _draw(self, point: Tensor, memory: int) -> Surrogate:
        """A stand-in for the plan, drawn by a sweep."""
        sampler = self.sampler(memory)
        self.sweep(point, sampler, wide=False)
        self._filling = sampler.filling
        return Surrogate(sampler)


class TiledCross(TiledTerm):
    """Between two clouds, from the potential g: rows are right."""

    def __init__(self, kernel: PanelKernel, a: Tensor, b: Tensor, g: Tensor) -> None:
        super().__init__(kernel, "xy", b.log() + (g - kernel.g) / kernel.epsilon)
        self._a, self._b = a, b

    def sweep(self, point: Tensor, sampler: Sampler | None, *, wide: bool) -> None:
        """One pass at log v."""
        self._v = point.exp()
        self._u, column = _sweep(self._kernel, self._a, self._v, sampler, wide=wide)
        self._columns = self._v * column
        self.error = float((self._columns - self._b).abs().sum())

    def certify(self, point: Tensor) -> None:
        """The same, with all sums."""
        self._v = point.exp()
        self.plan = KernelPlan(self._kernel, None, self._v, self._a, self._b)
        self._u, self._columns = self.plan.u, torch.from_numpy(self.plan.sums.columns)
        self.error = float((self._columns - self._b).abs().sum())

    def step(self, surrogate: Surrogate) -> Tensor:
        """Of log v."""
        return surrogate.column_step(self._u, self._v, self._columns, self._a, self._b)

    def sampler(self, memory: int) -> Sampler:
        """Of all entries."""
        return Sampler(self._a, self._b, memory, symmetric=False, filling=self._filling)


class TiledSelf(TiledTerm):
    """Of a cloud with itself, from a potential."""

    def __init__(self, kernel: PanelKernel, a: Tensor, potential: Tensor, name: str) -> None:
        # T_ii = s_i² is at most a_i: far from all others, a point is beyond what a sample knows
        point = torch.minimum(a.log() + potential / kernel.epsilon, 0.5 * a.log())
        super().__init__(kernel, name, point - kernel.f / kernel.epsilon)
        self._a = a

    def sweep(self, point: Tensor, sampler: Sampler | None, *, wide: bool) -> None:
        """One pass at log s."""
        self._s = point.exp()
        self._rows = self._s * _product(self._kernel, self._s, sampler, wide=wide)
        self.error = float((self._rows - self._a).abs().sum())

    def certify(self, point: Tensor) -> None:
        """The same, with all sums."""
        self._s = point.exp()
        self.plan = KernelPlan(self._kernel, self._s, self._s, self._a, self._a)
        self._rows = torch.from_numpy(self.plan.sums.rows)
        self.error = float((self._rows - self._a).abs().sum())

    def step(self, surrogate: Surrogate) -> Tensor:
        """Of log s."""
        return surrogate.self_step(self._s, self._rows, self._a)

    def sampler(self, memory: int) -> Sampler:
        """Of the upper triangle."""
        return Sampler(self._a, self._a, memory, symmetric=True, filling=self._filling)


def _sweep(
    kernel: PanelKernel, a: Tensor, v: Tensor, sampler: Sampler | None, *, wide: bool
) -> tuple[Tensor, Tensor]:
    """(u, Kᵀ u) with u = a / (K v), in one pass; the sampler sees every panel."""
    if not wide and sampler is None:
        return kernel.sweep(a, v)
    narrow = v.to(kernel.cost.dtype)
    u, column = torch.empty_like(a), torch.zeros_like(v)
    for rows, panel in kernel.panels():
        if sampler is not None:
            u[rows] = a[rows] / wide_product(panel, narrow, kernel.wide)
            column += panel.T @ u[rows].to(panel.dtype)
            sampler.add(rows, panel, u[rows], v)
            continue
        for part, piece in _wide_pieces(rows, panel):
            u[part] = a[part] / (piece @ v)
            column += piece.T @ u[part]
    return u, column


def _product(kernel: PanelKernel, s: Tensor, sampler: Sampler | None, *, wide: bool) -> Tensor:
    """K s of a symmetric kernel, in one pass over its upper triangle."""
    if not wide and sampler is None:
        return kernel.apply(s)
    narrow = s.to(kernel.cost.dtype)
    out = torch.zeros_like(s)
    for rows, panel in kernel.panels():
        height = rows.stop - rows.start
        if sampler is not None:
            out[rows] += wide_product(panel, narrow[rows.start :], kernel.wide)
            out[rows.stop :] += panel[:, height:].T @ narrow[rows]
            sampler.add(rows, panel, s[rows], s)
            continue
        for part, piece in _wide_pieces(rows, panel):
            out[part] += piece @ s[rows.start :]
            out[rows.stop :] += piece[:, height:].T @ s[part]
    return out


def _wide_pieces(rows: slice, panel: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """(rows, entries in float64) of a panel, a few rows at a time."""
    step = max(1, _PIECE_ELEMENTS // panel.shape[1])
    for top in range(0, len(panel), step):
        piece = panel[top : top + step].double()
        yield slice(rows.start + top, rows.start + top + len(piece)), piece
