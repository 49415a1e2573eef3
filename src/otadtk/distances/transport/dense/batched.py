"""Many small problems OT_ε at once, as one tensor: for statistics, which solve hundreds of them.

A cross term is annealed from ε near its costs down to ε, some damped Newton steps a stage, with the
linear system of each solved densely: for a hundred points that takes a tenth of a millisecond, and no
regime needs a way of its own. A self term is the fixed point of averaged sweeps. Problems of
different sizes are padded by points of no weight. All is float64, and each problem stops for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

LARGEST = 128
"""Points a side up to which a dense Newton step is cheaper than any other way."""
ENTRIES = 1 << 17
"""Pairs of all problems of a batch: 1 MB, which the second-level cache holds."""
_FACTOR = 4.0
_STAGE_STEPS, _STAGE_GOAL = 10, 0.02
"""Newton steps at a multiple of ε on the way to ε, and the marginal error (L1) that is enough."""
_LAST_STEPS, _GOAL = 60, 1e-7
"""Newton steps at ε at most, and the marginal error times the largest cost that ends them."""
_SWEEPS = 60
_RADIUS = 4.0
"""Largest step of a potential at first, in units of ε."""
_DAMPING, _LEAST_DAMPING = 1e-4, 1e-12


@dataclass(frozen=True)
class Batch:
    """Costs in units of ε (B, n, m), and weights (B, n) and (B, m), zero where padded."""

    cost: Tensor
    a: Tensor
    b: Tensor

    def chosen(self, mask: Tensor) -> Batch:
        """The problems where the mask holds."""
        return Batch(self.cost[mask], self.a[mask], self.b[mask])


@dataclass(frozen=True)
class BatchTerms:
    """In units of ε, for every problem of a batch."""

    transport: Tensor
    """⟨T, C⟩."""
    entropic: Tensor
    """OT_ε."""
    error: Tensor
    """Marginal error (L1) times the largest cost: a bound of both gaps but for a small factor."""


Side = tuple[Tensor, Tensor]
"""Places in the matrix of a pool, and their weights."""


def solve_all(
    matrix: Tensor,
    first: Sequence[Side],
    second: Sequence[Side],
    epsilons: Tensor,
    *,
    symmetric: bool,
) -> BatchTerms:
    """The terms between the sides of every problem, in batches; ``symmetric`` if they are the same."""
    largest = max(len(a) * len(b) for (_, a), (_, b) in zip(first, second, strict=True))
    step = max(1, ENTRIES // largest)
    solve = solve_self_batch if symmetric else solve_batch
    parts = []
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        (rows, a), (columns, b) = _padded(first[part]), _padded(second[part])
        cost = matrix[rows[:, :, None], columns[:, None, :]].double()
        found = solve(Batch(cost / epsilons[part, None, None].to(cost), a.to(cost), b.to(cost)))
        parts.append([side.cpu() for side in (found.transport, found.entropic, found.error)])
    return BatchTerms(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _padded(sides: Sequence[Side]) -> Side:
    """(places, weights) as matrices: shorter ones end in points of no weight."""
    places = pad_sequence([places for places, _ in sides], batch_first=True)
    return places, pad_sequence([weights for _, weights in sides], batch_first=True)


def solve_batch(batch: Batch) -> BatchTerms:
    """The cross terms."""
    state, largest, _ = _annealed(batch)
    transport = (state.plan * batch.cost).sum(dim=(1, 2))
    return BatchTerms(transport, state.height, state.error * largest)


def small_potentials(cost: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, int]:
    """(f, g, Newton steps) of one small problem, all in units of ε, in float64."""
    state, _, steps = _annealed(Batch(cost[None], a[None], b[None]))
    return state.f[0], state.g[0], steps


def _annealed(batch: Batch) -> tuple[_State, Tensor, int]:
    """(the solved problems, their largest costs, steps), from ε near the costs down to ε."""
    largest = batch.cost.amax(dim=(1, 2)).clamp(min=1.0)
    f, steps = torch.zeros_like(batch.a), 0
    scale = 1.0
    while scale < float(largest.max()):
        scale *= _FACTOR
    while scale > 1.0:
        todo = scale < _FACTOR * largest
        part = batch.chosen(todo)
        part = Batch(part.cost / scale, part.a, part.b)
        goal = torch.full_like(largest[todo], _STAGE_GOAL)
        state, taken = _newton(part, f[todo] / scale, _STAGE_STEPS, goal)
        f[todo], steps = scale * state.f, steps + taken
        scale /= _FACTOR
    # rounding a plan to exact marginals moves the missing mass at the largest cost at most
    state, taken = _newton(batch, f, _LAST_STEPS, _GOAL / largest)
    return state, largest, steps + taken


def solve_self_batch(batch: Batch) -> BatchTerms:
    """The terms of sets with themselves: b is a, and C is symmetric with a diagonal of zeros."""
    kernel = (-batch.cost).exp_()
    present = batch.a > 0
    log_a = torch.where(present, batch.a, 1.0).log()
    log_s = 0.5 * log_a
    for _ in range(_SWEEPS):
        s = log_s.exp() * present
        product = torch.bmm(kernel, s[:, :, None])[:, :, 0]
        error = (s * product - batch.a).abs().sum(dim=1)
        if float(error.max()) <= 1e-10:
            break
        # contracts by a half at least, whatever ε
        log_s = 0.5 * (log_s + log_a - product.log())
    transport = (kernel.mul_(batch.cost) * s[:, :, None] * s[:, None, :]).sum(dim=(1, 2))
    entropic = 2.0 * (batch.a * (log_s - log_a)).sum(dim=1)
    return BatchTerms(transport, entropic, error * batch.cost.amax(dim=(1, 2)).clamp(min=1.0))


class _State:
    """Plans of given f with g its soft minimum: columns are exact, rows are not yet."""

    def __init__(self, batch: Batch, f: Tensor) -> None:
        self.f = f
        plan = (f + batch.a.log())[:, :, None] - batch.cost
        peak = plan.amax(dim=1, keepdim=True)
        plan.sub_(peak).exp_()
        sums = plan.sum(dim=1, keepdim=True)
        self.plan = plan.mul_(batch.b[:, None, :] / sums)
        self.g = -(peak + sums.log())[:, 0]
        self.height = (batch.a * f).sum(dim=1) + (batch.b * self.g).sum(dim=1)
        self.missing = batch.a - self.plan.sum(dim=2)
        self.error = self.missing.abs().sum(dim=1)

    def take(self, mask: Tensor, where: Tensor, other: _State) -> None:
        """The other's states where the mask holds, which are these at the given places."""
        for name in ("f", "g", "plan", "height", "missing", "error"):
            getattr(self, name)[where[mask]] = getattr(other, name)[mask]


def _newton(batch: Batch, f: Tensor, steps: int, goal: Tensor) -> tuple[_State, int]:
    """(the state, steps taken) after damped Newton steps of the concave dual in f.

    Each is kept if the dual rises.
    """
    state = _State(batch, f)
    damping = torch.full_like(state.error, _DAMPING)
    radius = torch.full_like(state.error, _RADIUS)
    for taken in range(steps):
        where = (state.error > goal).nonzero()[:, 0]
        if len(where) == 0:
            return state, taken
        part = batch if len(where) == len(f) else batch.chosen(where)
        step = _direction(part, state.plan[where], state.missing[where], damping[where])
        length = radius[where] / torch.maximum(radius[where], step.abs().amax(dim=1))
        tried = _State(part, state.f[where] + step * length[:, None])
        before = state.height[where]
        uphill = tried.height >= before - 1e-15 * (before.abs() + 1.0)
        state.take(uphill, where, tried)
        damping[where] = torch.where(uphill, 0.1 * damping[where], 30.0 * damping[where])
        damping.clamp_(_LEAST_DAMPING, 1.0)
        radius[where] = torch.where(uphill, 2.0 * radius[where], 0.25 * radius[where])
    return state, steps


def _direction(batch: Batch, plan: Tensor, missing: Tensor, damping: Tensor) -> Tensor:
    """The Newton step of f: (diag(r) − T diag(1/b) Tᵀ + damping) d = a − r, scaled by a."""
    present = batch.a > 0
    root = torch.where(present, batch.a, 1.0).sqrt()
    scaled = plan / root[:, :, None]
    scaled /= torch.where(batch.b > 0, batch.b, 1.0).sqrt()[:, None, :]
    hessian = torch.bmm(scaled, scaled.transpose(1, 2)).neg_()
    # rows of a Laplacian sum to zero: the diagonal from the others loses no digits
    diagonal = hessian.diagonal(dim1=1, dim2=2)
    diagonal.zero_()
    degree = -torch.bmm(hessian, root[:, :, None])[:, :, 0] / root
    diagonal.copy_(degree + torch.where(present, damping[:, None], 1.0))
    factor, failed = torch.linalg.cholesky_ex(hessian)
    solved = torch.cholesky_solve((missing / root)[:, :, None], factor)[:, :, 0] / root
    return torch.where(((failed == 0) & solved.isfinite().all(dim=1))[:, None], solved, missing)
