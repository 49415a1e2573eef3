"""What a distance says beyond one number: its floor, its p-value, its interval, its limit.

Every function takes a ``distance(x, y)`` of two sets of embeddings, draws with a seed, and spreads
its evaluations over threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress, t

from otadtk.errors import UsageError

Array = NDArray[np.floating]
Distance = Callable[[Array, Array], float]
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Floor:
    """What two samples of one distribution score at this N and M, and how unlikely that is here."""

    mean: float
    low: float
    high: float
    """2.5 % and 97.5 % quantiles of the scores under the null."""
    p_value: float
    """Probability of a score at least as large as the observed one if the sets were exchangeable."""
    replicates: int
    seed: int


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of the expected score at this N and M, by a grouped two-sample jackknife."""

    low: float
    high: float
    deviation: float
    """Standard deviation of the score over samples of this size."""
    groups: int
    seed: int


@dataclass(frozen=True)
class Limit:
    """The score that a fit in 1/N gives for infinitely many clips."""

    value: float
    slope: float
    r_squared: float
    sizes: tuple[int, ...]
    scores: tuple[float, ...]
    seed: int


def permutation_floor(
    distance: Distance,
    x: Array,
    y: Array,
    observed: float,
    *,
    replicates: int = 200,
    seed: int = 0,
    workers: int = 1,
) -> Floor:
    """The floor at this N and M: the distance after all clips were dealt out anew.

    p = (1 + #{permuted ≥ observed}) / (1 + replicates).
    """
    _at_least(replicates, 1, "replicates")
    pooled, n = np.concatenate([x, y]), len(x)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(pooled)) for _ in range(replicates)]
    scores = _map(lambda order: distance(pooled[order[:n]], pooled[order[n:]]), orders, workers)
    low, high = np.quantile(scores, [0.5 - _CONFIDENCE / 2, 0.5 + _CONFIDENCE / 2])
    p_value = (1 + int(np.sum(scores >= observed))) / (1 + replicates)
    return Floor(float(scores.mean()), float(low), float(high), p_value, replicates, seed)


def jackknife_interval(
    distance: Distance,
    x: Array,
    y: Array,
    observed: float,
    *,
    groups: int = 20,
    seed: int = 0,
    workers: int = 1,
) -> Interval:
    """The observed score ± t · s, with s² the sum of the jackknife variances of the two sides.

    The clips of a side are dealt into groups; leaving each group out in turn shows how much the
    score owes to chance. Unlike a bootstrap no clip is drawn twice, which would lower distances
    within a set and bias transport and kernel scores alike.
    """
    _at_least(groups, 3, "groups")
    variance, freedom = 0.0, 0
    rng = np.random.default_rng(seed)
    for side, leave_out in (
        (x, lambda kept: distance(x[kept], y)),
        (y, lambda kept: distance(x, y[kept])),
    ):
        count = min(groups, len(side) // 2)
        if count < 3:
            raise UsageError(f"An interval needs at least 6 clips a side, not {len(side)}.")
        kept = _all_but_one_group(len(side), count, rng)
        scores = _map(leave_out, kept, workers)
        variance += (count - 1) / count * float(np.sum((scores - scores.mean()) ** 2))
        freedom += count - 1
    deviation = variance**0.5
    reach = float(t.ppf(0.5 + _CONFIDENCE / 2, freedom)) * deviation
    return Interval(observed - reach, observed + reach, deviation, groups, seed)


def extrapolate(
    distance: Distance,
    x: Array,
    y: Array,
    *,
    points: int = 12,
    seed: int = 0,
    workers: int = 1,
) -> Limit:
    """The intercept of a straight line through the scores of seeded subsets against 1/N."""
    most = min(len(x), len(y))
    least = max(2, most // 5)
    if most - least < 3:
        raise UsageError(f"Extrapolation needs at least 6 clips a side, not {most}.")
    rng = np.random.default_rng(seed)
    sizes = np.unique(np.linspace(least, most, max(3, points)).astype(int)).tolist()
    draws = [(rng.permutation(len(x))[:size], rng.permutation(len(y))[:size]) for size in sizes]
    scores = _map(lambda draw: distance(x[draw[0]], y[draw[1]]), draws, workers)
    line = linregress(1.0 / np.asarray(sizes), scores)
    return Limit(
        float(line.intercept),
        float(line.slope),
        float(line.rvalue**2),
        tuple(sizes),
        tuple(scores.tolist()),
        seed,
    )


def _all_but_one_group(
    size: int, groups: int, rng: np.random.Generator
) -> Sequence[NDArray[np.intp]]:
    order = rng.permutation(size)
    return [np.sort(np.delete(order, np.s_[k::groups])) for k in range(groups)]


def _map(
    function: Callable[..., float], items: Iterable[object], workers: int
) -> NDArray[np.float64]:
    """The values of the items in order; each thread computes with one torch thread."""
    import torch

    def one_thread() -> None:
        torch.set_num_threads(1)

    with ThreadPoolExecutor(workers, initializer=one_thread) as pool:
        return np.fromiter(pool.map(function, items), dtype=np.float64)


def _at_least(value: int, least: int, name: str) -> None:
    if value < least:
        raise UsageError(f"{name} must be at least {least}, not {value}.")
