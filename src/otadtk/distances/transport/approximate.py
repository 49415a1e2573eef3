"""The approximations of Section 5.6 for very large sets; both name themselves in the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.backend import HERE, Backend
from otadtk.distances.transport.result import DivergenceKind
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.distances.validate import as_points, check_pair, check_positive
from otadtk.errors import UsageError

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class ApproximateDivergence:
    """An approximate distance: which one, its value, an interval, and per-sample costs."""

    coupling: Literal["minibatch", "sliced"]
    """The approximation that was asked for."""
    value: float
    """Mean over the batches, or over the directions."""
    interval: tuple[float, float]
    """95 % interval of the mean over batches or directions (not of the full divergence)."""
    repetitions: int
    """Batches, or directions."""
    seed: int
    """Of the batches or directions."""
    cj: FloatArray = field(repr=False)
    """Cost of every evaluated sample, mass 1/M each."""
    reference_costs: FloatArray = field(repr=False)
    """Cost of every reference sample, mass 1/N each."""
    converged: bool = True
    """Whether every batch converged."""

    @property
    def shares(self) -> None:
        """None: there is no one plan between the whole sets."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the number should know, one sentence each."""
        repeats = {"minibatch": "batches", "sliced": "directions"}[self.coupling]
        if self.repetitions == 1:
            repeats = {"batches": "batch", "directions": "direction"}[repeats]
        low, high = self.interval
        interval = f"{low:.6g} to {high:.6g}" if self.repetitions > 1 else "unknown"
        note = (
            f"This is the {self.coupling} approximation (mean of {self.repetitions} {repeats}, seed "
            f"{self.seed}, 95 % interval {interval}), not the divergence of the whole sets."
        )
        return (note,) if self.converged else (note, "Not converged in every batch.")

    def describe(self) -> str:
        """How the number was computed, in one line."""
        return f"{self.coupling} approximation, seed {self.seed}"


def minibatch_divergence(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    epsilon: float = 0.1,
    divergence: DivergenceKind = "sharp",
    batch_size: int = 500,
    repetitions: int = 1,
    seed: int = 0,
    backend: Backend = HERE,
) -> ApproximateDivergence:
    """The mean Sinkhorn divergence of seeded batches, with its interval.

    Each repetition shuffles both sets and cuts them into batches, so that every sample of the
    larger set is drawn at least once; the smaller set is gone through again as often as needed. A
    set smaller than a batch is in every batch as a whole.
    The mean is biased upwards: small batches are farther apart than their sets. The ``backend``
    may solve several batches at a time.
    """
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    if batch_size < 2 or repetitions < 1:
        raise UsageError("batch_size must be at least 2 and repetitions at least 1.")
    # a set smaller than a batch takes part whole: batches as small as it would be many and biased
    sizes = min(batch_size, len(x_)), min(batch_size, len(y_))
    generator = torch.Generator().manual_seed(seed)
    values: list[float] = []
    costs = [np.zeros(len(x_)), np.zeros(len(y_))]
    counts = [np.zeros(len(x_)), np.zeros(len(y_))]
    converged = True
    batches = repetitions * max(-(-len(x_) // sizes[0]), -(-len(y_) // sizes[1]))
    drawn_x = _batches(len(x_), sizes[0], batches, generator)
    drawn_y = _batches(len(y_), sizes[1], batches, generator)
    drawn = list(zip(drawn_x, drawn_y, strict=True))
    couple = partial(_couple_batch, epsilon=epsilon, divergence=divergence)
    found = backend.batches(couple, x_, y_, drawn)
    for (rows, columns), result in zip(drawn, found, strict=True):
        values.append(result.value)
        converged = converged and result.converged
        for side, index, cost in (
            (0, rows.numpy(), result.reference_costs),
            (1, columns.numpy(), result.cj),
        ):
            costs[side][index] += cost * sizes[side] / len(costs[side])
            counts[side][index] += 1.0
    means = [cost / np.maximum(count, 1.0) for cost, count in zip(costs, counts, strict=True)]
    return ApproximateDivergence(
        "minibatch", float(np.mean(values)), _interval(np.asarray(values)), len(values), seed,
        means[1], means[0], converged,
    )  # fmt: skip


def _couple_batch(
    x: Tensor | FloatArray,
    y: Tensor | FloatArray,
    drawn: tuple[Tensor, Tensor],
    *,
    epsilon: float,
    divergence: DivergenceKind,
) -> _BatchResult:
    """The divergence of the drawn rows of x and of y."""
    rows, columns = (side.numpy() for side in drawn)
    found = sinkhorn_divergence(x[rows], y[columns], epsilon=epsilon, divergence=divergence)
    return _BatchResult(found.value, found.converged, found.reference_costs, found.cj)


@dataclass(frozen=True)
class _BatchResult:
    """What is needed of the divergence of a batch."""

    value: float
    converged: bool
    reference_costs: FloatArray
    cj: FloatArray


def sliced_divergence(
    x: ArrayLike | Tensor, y: ArrayLike | Tensor, *, directions: int = 512, seed: int = 0
) -> ApproximateDivergence:
    """The sliced W₂²: the mean over seeded directions θ of the one-dimensional W₂²(θᵀx, θᵀy).

    On a line the optimal plan joins equal quantiles; a sample's cost is its share of the plan,
    averaged over the directions.
    """
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    check_positive(directions, "directions")
    cost = SquaredCost(x_, y_)  # centred
    wide = cost.wide
    generator = torch.Generator().manual_seed(seed)
    n, m = cost.shape
    rows, columns, mass = _quantile_plan(n, m, wide, cost.device)
    per_x = torch.zeros(n, dtype=wide, device=cost.device)
    per_y = torch.zeros(m, dtype=wide, device=cost.device)
    values = []
    for _ in range(directions):
        theta = torch.randn(cost.x.shape[1], generator=generator).to(cost.x)
        theta /= theta.norm()
        u, u_order = (cost.x @ theta).to(wide).sort()
        v, v_order = (cost.y @ theta).to(wide).sort()
        product = mass * (u[rows] - v[columns]).square()
        per_x.index_add_(0, u_order[rows], product)
        per_y.index_add_(0, v_order[columns], product)
        values.append(float(product.sum()))
    return ApproximateDivergence(
        "sliced", float(np.mean(values)), _interval(np.asarray(values)), directions, seed,
        (per_y / directions).cpu().double().numpy(), (per_x / directions).cpu().double().numpy(),
    )  # fmt: skip


def _batches(count: int, size: int, batches: int, generator: torch.Generator) -> list[Tensor]:
    """So many batches of distinct indices; a shuffle is used up before the next one begins."""
    out: list[Tensor] = []
    rest = torch.empty(0, dtype=torch.int64)
    while len(out) < batches:
        fresh = torch.randperm(count, generator=generator)
        # a batch across two shuffles takes from the new one what the old one's rest does not hold
        fresh = fresh[~torch.isin(fresh, rest)] if len(rest) else fresh
        line = torch.cat([rest, fresh])
        whole = len(line) // size
        out.extend(line[i * size : (i + 1) * size] for i in range(whole))
        rest = line[whole * size :]
    return out[:batches]


def _quantile_plan(
    n: int, m: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """(i, j, mass) of the monotone plan between n and m equal weights: n + m − 1 entries or so."""
    # cut [0, 1] at all i/n and j/m, exactly, in units of 1/(n m)
    cuts = np.unique(np.concatenate([np.arange(1, n + 1) * m, np.arange(1, m + 1) * n]))
    starts = np.concatenate([[0], cuts[:-1]])
    mass = torch.from_numpy((cuts - starts) / float(n * m))
    rows, columns = torch.from_numpy(starts // m), torch.from_numpy(starts // n)
    return rows.to(device), columns.to(device), mass.to(device, dtype)


def _interval(values: FloatArray) -> tuple[float, float]:
    """The 95 % t-interval of the mean; infinite for a single value."""
    mean = float(values.mean())
    if len(values) < 2:
        return float("-inf"), float("inf")
    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, 0.5 + _CONFIDENCE / 2.0))
    half *= float(values.std(ddof=1)) / float(np.sqrt(len(values)))
    return mean - half, mean + half
