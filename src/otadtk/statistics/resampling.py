"""What a distance says beyond one number: its floor, its p-value, its interval, its limit.

Every function takes the distance between two subsets of one pool of clips, in which the n
reference clips come first and the m evaluated clips after them. It draws with a seed, and an engine
computes the distances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.statistics.designs import Design, Free
from otadtk.statistics.jackknife import TAIL, Draw, Without, limits, scores_without, variance_of
from otadtk.statistics.quantiles import quantiles

IndexArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
SubsetDistance = Callable[[IndexArray, IndexArray], float]

SIGNIFICANT = 0.05
"""Two sets differ if p is at most this."""
_TIE = 1e-6
"""Relative difference below which two scores are one score, computed twice."""
_BATCH = 20
"""Permutations between two looks at a sequential p-value."""


def show_span(low: float, high: float, form: str = ".6f") -> str:
    """An interval as it is printed; "none" where none holds."""
    return f"{low:{form}} to {high:{form}}" if math.isfinite(high - low) else "none"


@dataclass(frozen=True)
class Floor:
    """What two samples of one distribution score at this N and M, and how unlikely that is here."""

    mean: float
    low: float
    high: float
    """2.5 % and 97.5 % quantiles of the scores under the null."""
    deviation: float
    """Standard deviation of the scores under the null."""
    p_value: float
    """Probability of a score as large as the observed one, or as small where higher is better, if
    the sets were exchangeable."""
    replicates: int
    """Permutations that were computed."""
    seed: int
    scores: tuple[float, ...] = field(repr=False)
    """The scores under the null."""
    design: str = "free"
    """Which clips changed places: any ("free"), within "strata", or within "pairs"."""

    def ratio(self, score: float) -> float | None:
        """The score over the floor; None where the floor is about zero, as KAD's is."""
        return score / self.mean if self.low > 0 else None


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of the expected score at this N and M, by a grouped two-sample jackknife."""

    score: float
    low: float
    high: float
    deviation: float
    """Standard deviation of the score over samples of this size."""
    freedom: int
    """Degrees of freedom of the t distribution behind the interval."""
    groups: int
    seed: int
    without: Without = field(repr=False)
    """The scores without one and two groups of clips."""

    @property
    def holds(self) -> bool:
        """Whether there is an interval; a score that a few far clips decide has none."""
        return math.isfinite(self.high - self.low)

    def within(self, least: float, most: float) -> Interval:
        """The part of the interval where scores can lie."""
        return replace(self, low=max(self.low, least), high=min(self.high, most))

    def unbounded(self) -> Interval:
        """No interval: the score of other clips may be anything."""
        return replace(self, low=-math.inf, high=math.inf, deviation=math.inf)


@dataclass(frozen=True)
class Limit:
    """The score that a fit in 1/N gives for infinitely many clips."""

    value: float
    slope: float
    r_squared: float
    sizes: tuple[int, ...]
    scores: tuple[float, ...]
    """The mean score of subsets of each size."""
    seed: int


def permutation_floor(
    distance: SubsetDistance,
    n: int,
    m: int,
    *,
    replicates: int = 200,
    design: Design | None = None,
    enough: int | None = None,
    higher_is_better: bool = False,
    seed: int = 0,
    engine: Engine,
) -> Floor:
    """The floor at this N and M: the distance after clips changed places as the design allows.

    p = (1 + #{permuted ≥ observed}) / (1 + replicates). After ``enough`` permuted scores that are
    as large as the observed one, no more are drawn, and p = enough / permutations until then
    (Besag and Clifford, Sequential Monte Carlo p-values, Biometrika 78, 1991): it is as exact, and
    a large p is known early. Draws whose scores are too near the observed one for the precision of
    ``distance`` are computed by its ``exactly``, so the order of scores, which is all that p depends on, is
    that of exact scores. Where ``higher_is_better``, permuted scores count that are as small.
    """
    require_at_least(replicates, 1, "replicates")
    require_at_least(seed, 0, "seed")
    chosen = design if design is not None else Free(n + m)
    rng = np.random.default_rng(seed)

    # scores of many draws at once may be rough: those near the observed one are computed exactly
    margin: float = getattr(distance, "margin", 0.0)
    exactly: SubsetDistance = distance.exactly if margin > 0 else distance  # type: ignore[attr-defined]

    def score(by: SubsetDistance, orders: Sequence[IndexArray]) -> FloatArray:
        return _scores(by, [(order[:n], order[n:]) for order in orders], engine, "floor")

    observed = float(score(exactly, [np.arange(n + m)])[0])
    scores = np.empty(0)
    as_large: IndexArray = np.empty(0, dtype=np.intp)
    p_value = None
    while p_value is None and len(scores) < replicates:
        count = replicates if enough is None else _ahead(len(scores), len(as_large), enough)
        orders = [chosen.draw(rng) for _ in range(min(count, replicates - len(scores)))]
        found = score(distance, orders)
        undecided = np.flatnonzero(np.abs(found - observed) <= margin)
        if margin > 0 and len(undecided) > 0:
            found[undecided] = score(exactly, [orders[k] for k in undecided])
        scores = np.concatenate([scores, found])
        beyond = observed - scores if higher_is_better else scores - observed
        as_large = np.flatnonzero(beyond >= -_TIE * abs(observed))
        if enough is not None and len(as_large) >= enough:
            last = int(as_large[enough - 1])
            p_value = enough / (1 + last)
            scores = scores[: _BATCH * (1 + last // _BATCH)]  # however many were drawn at once
    if p_value is None:
        p_value = (1 + len(as_large)) / (1 + len(scores))
    low, high = quantiles(scores, (TAIL, 1.0 - TAIL))
    return Floor(
        mean=float(scores.mean()),
        low=low,
        high=high,
        deviation=float(scores.std(ddof=1)) if len(scores) > 1 else 0.0,
        p_value=p_value,
        replicates=len(scores),
        seed=seed,
        design=chosen.name,
        scores=tuple(scores.tolist()),
    )


def _ahead(drawn: int, as_large: int, enough: int) -> int:
    """How many permutations to draw before the next look, by what was seen so far.

    Many that are solved together cost less each than a few.
    """
    if drawn == 0:
        return _BATCH
    expected = (enough - as_large) * (1 + drawn) / (1 + as_large)
    return _BATCH * math.ceil(expected / _BATCH)


def jackknife_interval(
    distance: SubsetDistance,
    n: int,
    m: int,
    *,
    groups: int = 20,
    seed: int = 0,
    score: float | None = None,
    engine: Engine,
) -> Interval:
    """The 95 % interval of a score whose variance is that of a corrected grouped jackknife.

    The clips of a side are dealt into groups; leaving each group out in turn, and some two groups
    together, shows how much the score owes to chance. Unlike a bootstrap no clip is drawn twice,
    which would lower distances within a set and bias transport and kernel scores alike.
    ``score`` is that of all clips, where it is known already.
    """
    require_at_least(groups, 3, "groups")
    require_at_least(seed, 0, "seed")

    def scores(draws: Sequence[Draw]) -> FloatArray:
        return _scores(distance, draws, engine, "interval")

    score, without = scores_without(n, m, groups, seed, scores, whole=score)
    estimate = variance_of(score, without)
    freedom = len(without.reference.groups) + len(without.evaluated.groups) - 2
    low, high = limits(score, estimate, estimate.slope, freedom)
    return Interval(score, low, high, estimate.variance**0.5, freedom, groups, seed, without)


def extrapolate(
    distance: SubsetDistance,
    n: int,
    m: int,
    *,
    points: int = 12,
    seed: int = 0,
    engine: Engine,
) -> Limit:
    """The intercept of a straight line through the scores of seeded subsets against 1/N.

    The score of a size is the mean over as many disjoint subsets of that size as there are: those
    of small ones vary most, and all points of the line are then about equally exact.
    """
    from scipy.stats import linregress

    require_at_least(seed, 0, "seed")
    most = min(n, m)
    least = max(2, most // 5)
    if most - least < 3:
        raise UsageError(f"Extrapolation needs at least 6 clips a side, not {most}.")
    rng = np.random.default_rng(seed)
    sizes = np.unique(np.linspace(least, most, max(3, points)).astype(int)).tolist()
    draws: list[tuple[IndexArray, IndexArray]] = []
    for size in sizes:
        x, y = rng.permutation(n), n + rng.permutation(m)
        starts = range(0, most - size + 1, size)
        draws += [(x[start : start + size], y[start : start + size]) for start in starts]
    values = _scores(distance, draws, engine, "limit")
    drawn = np.array([len(x) for x, _ in draws])
    scores = np.array([values[drawn == size].mean() for size in sizes])
    line = linregress(1.0 / np.asarray(sizes), scores)
    return Limit(
        float(line.intercept),
        float(line.slope),
        float(np.nan_to_num(line.rvalue**2)),
        tuple(sizes),
        tuple(scores.tolist()),
        seed,
    )


def _scores(
    distance: SubsetDistance, draws: Sequence[Draw], engine: Engine, title: str
) -> FloatArray:
    """The distances of the draws in order; each thread computes with one torch thread.

    A distance may have ``many``, which takes several draws, and say by ``at_once`` how many.
    """
    many = getattr(distance, "many", None)
    if many is None or distance.at_once == 1:  # type: ignore[attr-defined]
        found = engine.map(lambda: lambda draw: distance(*draw), draws, title=title, unit="score")
        return np.array(found, dtype=float)
    most: int = distance.at_once  # type: ignore[attr-defined]
    size = math.ceil(len(draws) / max(1, math.ceil(len(draws) / most)))  # parts of one size
    parts = [draws[start : start + size] for start in range(0, len(draws), max(1, size))]
    return np.concatenate(engine.map(lambda: many, parts, title=title, unit="batch"))


def require_at_least(value: int, least: int, name: str) -> None:
    """Refuse a number that is too small, by its name."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise UsageError(f"{name} must be a whole number, not {value!r}.")
    if value < least:
        raise UsageError(f"{name} must be at least {least}, not {value}.")
