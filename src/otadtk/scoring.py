"""Scores two sets of clips by one metric or by several, with what chance makes of such scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from otadtk.embed import EmbeddingSet
from otadtk.engine import Engine, default_workers
from otadtk.errors import UsageError
from otadtk.metrics import AudioMetric, Measurement, PathLike
from otadtk.resampling import (
    Floor,
    IndexArray,
    Interval,
    Limit,
    SubsetDistance,
    extrapolate,
    jackknife_interval,
    permutation_floor,
)

SIGNIFICANT = 0.05
"""p from which on two sets count as told apart."""
_STRAIGHT = 0.9
"""R² below which a fit in 1/N is not to be relied on."""


class _Spread(TypedDict):
    """How replicates are drawn, and who computes them."""

    seed: int
    workers: int
    engine: Engine | None


@dataclass(frozen=True)
class StatisticsRequest:
    """Which statistics to compute: ``null`` permutations (none for 0), an interval, a limit."""

    null: int = 0
    interval: bool = False
    limit: bool = False
    seed: int = 0
    workers: int | None = None
    """Threads (default: one per core)."""

    def __bool__(self) -> bool:
        return self.null > 0 or self.interval or self.limit


@dataclass(frozen=True)
class Statistics:
    """What a score is worth: its floor, its interval, its limit; None for what was not asked."""

    floor: Floor | None = None
    interval: Interval | None = None
    limit: Limit | None = None


@dataclass(frozen=True)
class Evaluation:
    """What one metric says of two sets."""

    metric: AudioMetric
    measurement: Measurement
    reference: EmbeddingSet
    evaluated: EmbeddingSet
    statistics: Statistics
    seconds: float
    """Wall-clock time of the distance, without embedding and statistics."""

    @property
    def score(self) -> float:
        """The distance."""
        return self.measurement.score

    @property
    def label(self) -> str:
        """The metric as it is printed: an approximation or an unfinished score names itself."""
        diagnostics = self.measurement.diagnostics
        result = None if diagnostics is None else diagnostics.transport
        unfinished = result is not None and not result.converged
        return f"{self.metric.label}, not converged" if unfinished else self.metric.label

    def headline(self) -> str:
        """The score in one line, against its floor where that is known."""
        line, floor = f"{self.label}: {self.score:.6f}", self.statistics.floor
        if floor is None:
            return line
        above, ratio = self.score - floor.mean, floor.ratio(self.score)
        where = f"{abs(above):.6f} {'above' if above >= 0 else 'below'} its floor {floor.mean:.6f}"
        times = f", {ratio:.2f} times it" if ratio is not None else ""
        return f"{line}  ({where}{times}, p = {floor.p_value:.3g})"

    def details(self) -> list[str]:
        """One line for each statistic behind the headline."""
        lines, found = [], self.statistics
        if found.floor is not None:
            floor = found.floor
            lines.append(
                f"floor: 95 % of {_permutations(floor)} score {floor.low:.6f} to {floor.high:.6f}"
            )
        if found.interval is not None:
            interval = found.interval
            lines.append(
                f"95 % interval: {interval.low:.6f} to {interval.high:.6f} (jackknife, "
                f"{len(interval.without.reference.groups)} and "
                f"{len(interval.without.evaluated.groups)} groups)"
            )
        if found.limit is not None:
            limit = found.limit
            lines.append(
                f"limit: {limit.value:.6f} for infinitely many clips (fit in 1/N over "
                f"{len(limit.sizes)} sizes from {limit.sizes[0]}, R² {limit.r_squared:.3f})"
            )
        return lines

    def notes(self) -> list[str]:
        """What a reader of the statistics should know, one sentence each."""
        notes, found, name = [], self.statistics, self.metric.name
        n, m = len(self.reference.files), len(self.evaluated.files)
        if found.floor is not None:
            least = 1.0 / (1 + found.floor.replicates)
            if least > SIGNIFICANT:
                notes.append(
                    f"{_permutations(found.floor)} cannot give a p below {least:.3g}; take 200."
                )
            elif found.floor.p_value > SIGNIFICANT:
                notes.append(
                    f"{name} cannot tell the sets apart at N = {n}, M = {m}: two samples of one "
                    f"distribution score as much (p = {found.floor.p_value:.3g}); compare more "
                    f"clips before you rank by this score."
                )
        if found.limit is not None and self.metric.unbiased:
            notes.append(
                f"{name} is unbiased at every N: a fit in 1/N has nothing to see, and the score "
                f"itself is the estimate for infinitely many clips."
            )
        elif found.limit is not None and found.limit.r_squared < _STRAIGHT:
            notes.append(
                f"The scores of {name} are not straight in 1/N (R² {found.limit.r_squared:.2f}): "
                f"do not rely on the limit."
            )
        return notes


def _permutations(floor: Floor) -> str:
    return f"{floor.replicates} permutation{'' if floor.replicates == 1 else 's'}"


def embed_once(
    metrics: Sequence[AudioMetric], place: PathLike, *, workers: int | None = None
) -> list[EmbeddingSet]:
    """The embeddings of a place for each metric; metrics of the same features share one set."""
    sets: dict[str, EmbeddingSet] = {}
    for metric in metrics:
        if metric.spec.fingerprint not in sets:
            sets[metric.spec.fingerprint] = metric.embed(place, workers=workers)
    return [sets[metric.spec.fingerprint] for metric in metrics]


def evaluate(
    metric: AudioMetric,
    reference: PathLike | EmbeddingSet,
    evaluated: PathLike | EmbeddingSet,
    *,
    null: int = 0,
    interval: bool = False,
    limit: bool = False,
    seed: int = 0,
    workers: int | None = None,
) -> Evaluation:
    """The metric's score of two folders or embedded sets, with the statistics asked for.

    ``null`` permutations give the floor and a p-value, ``interval`` a 95 % interval of the
    expected score at this N and M, ``limit`` the score for infinitely many clips.

    >>> from otadtk import OTAD, evaluate
    >>> result = evaluate(OTAD("yamnet"), "real/", "generated/", null=200)  # doctest: +SKIP
    >>> result.score, result.statistics.floor.p_value  # doctest: +SKIP
    """
    if not isinstance(reference, EmbeddingSet):
        reference = metric.embed(reference, workers=workers)
    if not isinstance(evaluated, EmbeddingSet):
        evaluated = metric.embed(evaluated, workers=workers)
    started = time.perf_counter()
    measurement = metric.measure(reference, evaluated)
    seconds = time.perf_counter() - started
    request = StatisticsRequest(null, interval, limit, seed, workers)
    found = statistics_of(metric, reference, evaluated, request)
    return Evaluation(metric, measurement, reference, evaluated, found, seconds)


def statistics_of(
    metric: AudioMetric,
    reference: EmbeddingSet,
    evaluated: EmbeddingSet,
    request: StatisticsRequest,
) -> Statistics:
    """The statistics of a metric on two embedded sets, all from one pool of their clips."""
    if not request:
        return Statistics()
    n, m = len(reference.files), len(evaluated.files)
    distance = between_clips(metric, [reference, evaluated])
    spread: _Spread = {
        "seed": request.seed,
        "workers": request.workers or default_workers(),
        "engine": metric.engine,
    }
    floor = interval = limit = None
    if request.null > 0:
        floor = permutation_floor(distance, n, m, replicates=request.null, **spread)
    if request.interval:
        interval = jackknife_interval(distance, n, m, **spread)
    if request.limit:
        limit = extrapolate(distance, n, m, **spread)
    return Statistics(floor, interval, limit)


def between_clips(metric: AudioMetric, sets: Sequence[EmbeddingSet]) -> SubsetDistance:
    """The metric's distance between subsets of the clips of all sets, one set after the other.

    Where frames are compared, a clip is drawn or left out with all of its frames: the frames of
    a clip are not independent of each other.
    """
    for other in sets[1:]:
        metric.points(sets[0], other)
    if any(side.moments_only for side in sets):
        raise UsageError("Statistics need the clips themselves, not their mean and covariance.")
    distance = metric.between(np.concatenate([side.points for side in sets]))
    if sets[0].frames is None:
        return distance
    if any(sum(side.frame_counts) != len(side.points) for side in sets):
        raise UsageError(
            "Statistics draw clips with all their frames: which clip each frame belongs to is not "
            "known of these sets."
        )
    counts = np.concatenate([side.frame_counts for side in sets])
    ends = np.cumsum(counts)
    frames = [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)]

    def between(i: IndexArray, j: IndexArray) -> float:
        first, second = (np.concatenate([frames[clip] for clip in side]) for side in (i, j))
        return distance(first, second)

    return between
