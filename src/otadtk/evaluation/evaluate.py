"""Scores two sets of clips by one metric, with statistics of the score."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from otadtk.embed import EmbeddingSet, Source
from otadtk.engine import Engine, resolve_engine
from otadtk.errors import UsageError
from otadtk.evaluation.designs import choose_design, groups_of_manifests, refuse_excess_of_twins
from otadtk.evaluation.outliers import Outliers, find_outliers
from otadtk.evaluation.pairs import PairedDistance, paired_distance
from otadtk.evaluation.written import Written
from otadtk.metrics import AudioMetric, Measurement
from otadtk.metrics.entry import no_limit
from otadtk.metrics.verdicts import Groups
from otadtk.statistics.designs import Design, Pairs
from otadtk.statistics.excess import Excess, excess_score
from otadtk.statistics.resampling import (
    SIGNIFICANT,
    Floor,
    IndexArray,
    Interval,
    Limit,
    SubsetDistance,
    extrapolate,
    jackknife_interval,
    permutation_floor,
    require_at_least,
    show_span,
)

if TYPE_CHECKING:
    from otadtk.metrics.base import Clips

logger = logging.getLogger(__name__)

_GOOD_FIT = 0.9
"""Below this R² a fit in 1/N is not reliable."""


class _Resampling(TypedDict):
    """The seed of the replicates, and the engine that computes them."""

    seed: int
    engine: Engine


@dataclass(frozen=True)
class StatisticsRequest:
    """Which statistics to compute; ``null`` is the number of permutations, 0 for no floor."""

    null: int = 0
    interval: bool = False
    limit: bool = False
    excess: bool = False
    seed: int = 0
    design: Design | None = None
    """Which clips may change places for the floor; ``None`` for any."""
    paired: bool = False
    """Whether the distance of the design's pairs is computed too."""
    enough: int | None = None
    """Stop the permutations once so many scored at least as much as the sets."""
    higher_is_better: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """The least and the largest score there can be."""

    def __post_init__(self) -> None:
        require_at_least(self.null, 0, "null")
        require_at_least(self.seed, 0, "seed")

    def __bool__(self) -> bool:
        return self.null > 0 or self.interval or self.limit or self.excess


@dataclass(frozen=True)
class Statistics:
    """Floor, interval, limit, excess and paired distance; ``None`` if not asked for."""

    floor: Floor | None = None
    interval: Interval | None = None
    limit: Limit | None = None
    excess: Excess | None = None
    paired: PairedDistance | None = None

    def unbounded(self) -> Statistics:
        """The statistics of a score that a few far clips decide: no interval holds."""
        return replace(
            self,
            interval=self.interval and self.interval.unbounded(),
            excess=self.excess and self.excess.unbounded(),
        )


@dataclass(frozen=True, repr=False)
class Evaluation(Written):
    """The score of two sets by one metric, with its statistics; ``evaluate`` makes it.

    ``measurement`` has what the metric knows beside the score: notes, certificate, and for OTAD the
    ``diagnostics`` of all clips. ``statistics`` has ``floor``, ``interval``, ``limit``, ``excess`` and
    ``paired``, each ``None`` if it was not asked for.

    Examples:
        >>> from otadtk import KAD, evaluate
        >>> result = evaluate(KAD("logmel"), "real/", "generated/")
        >>> result.score == result.measurement.score
        True
        >>> result.statistics.floor is None
        True
    """

    metric: AudioMetric
    measurement: Measurement
    reference: EmbeddingSet
    evaluated: EmbeddingSet
    statistics: Statistics
    seconds: float
    """Wall-clock time of the distance, without embedding and statistics."""

    def __repr__(self) -> str:
        return (
            f"Evaluation({self.headline()!r}, {self.metric!r}, {len(self.reference.files)} reference "
            f"and {len(self.evaluated.files)} evaluated clips)"
        )

    @property
    def score(self) -> float:
        """The distance."""
        return self.measurement.score

    @property
    def label(self) -> str:
        """The metric as printed; says so if the score is approximate or not converged."""
        converged = self.measurement.converged
        return self.metric.label if converged else f"{self.metric.label}, not converged"

    @cached_property
    def outliers(self) -> Outliers | None:
        """A few clips that decide the score, for which no interval holds; None without intervals."""
        if self.statistics.interval is None and self.statistics.excess is None:
            return None
        return find_outliers(self.metric, self.reference, self.evaluated)

    def headline(self) -> str:
        """The score in one line, with its floor if that was computed."""
        values, floor = self.measurement.values, self.statistics.floor
        named = ", ".join(f"{name} {value:.6f}" for name, value in values.items())
        line = f"{self.label}: {named or f'{self.score:.6f}'}"
        # a distance with a floor is known to be better below; its line without one stays a number
        said = self.metric.higher_is_better or not self.metric.has_floor
        better = self.metric.direction() if said else ""
        if floor is None:
            return f"{line}  ({better})" if better else line
        above, ratio = self.score - floor.mean, floor.ratio(self.score)
        where = f"{abs(above):.6f} {'above' if above >= 0 else 'below'} its floor {floor.mean:.6f}"
        times = f", {ratio:.2f} times it" if ratio is not None else ""
        return f"{line}  ({where}{times}, p = {floor.p_value:.3g}{'; ' if better else ''}{better})"

    def details(self) -> list[str]:
        """One line per statistic, and one on how clips are read where that was chosen."""
        lines, found = list(self.measurement.details), self.statistics
        reading = self.metric.spec.reading
        if not reading.usual and not self.metric.entry:  # a protocol says so itself
            lines.insert(0, f"clips: {reading.describe()}")
        if self.metric.ground.file is not None:
            lines.insert(0, f"adapter: {self.metric.ground.adapter_name}")
        if found.floor is not None:
            floor = found.floor
            within = {"free": "", "strata": " within groups", "pairs": " within pairs"}
            lines.append(
                f"floor: 95 % of {_permutations(floor)}{within[floor.design]} score "
                f"{floor.low:.6f} to {floor.high:.6f}"
            )
        if found.interval is not None:
            interval = found.interval
            span = show_span(interval.low, interval.high)
            lines.append(
                f"95 % interval: {_FEW_DECIDE if self.outliers else span} (jackknife, "
                f"{len(interval.without.reference.groups)} and "
                f"{len(interval.without.evaluated.groups)} groups)"
            )
        if found.limit is not None:
            limit = found.limit
            lines.append(
                f"limit: {limit.value:.6f} for infinitely many clips (fit in 1/N over "
                f"{len(limit.sizes)} sizes from {limit.sizes[0]}, R² {limit.r_squared:.3f})"
            )
        if found.excess is not None:
            excess = found.excess
            span = show_span(excess.low, excess.high)
            lines.append(
                f"excess: {excess.value:.6f} over samples of one distribution (95 % interval "
                f"{_FEW_DECIDE if self.outliers else span}, {excess.splits} splits into "
                f"halves of {excess.clips} clips)"
            )
        if found.paired is not None:
            paired = found.paired
            lines.append(
                f"paired distance: {paired.mean:.6f}, the mean over {len(paired.costs)} pairs (95 % "
                f"interval {show_span(paired.low, paired.high)})"
            )
        return [*lines, *self._verdict_lines()]

    def _verdict_lines(self) -> list[str]:
        """What the verdicts on single clips say, one line each."""
        diagnostics = self.measurement.diagnostics
        if diagnostics is None or diagnostics.judgement is None:
            return []
        lines = []
        evaluated, reference = diagnostics.judgement.evaluated, diagnostics.judgement.reference
        if evaluated is not None and evaluated.possible:
            spoilt, share = evaluated.spoilt, evaluated.spoilt.share
            lines.append(f"verdict: {evaluated.sentence()}")
            lines.append(
                f"some clips are spoilt: p = {spoilt.p_value:.2g}; share {100 * share.estimate:.0f} "
                f"% (95 % interval {100 * share.low:.0f} to {100 * share.high:.0f} %)"
            )
        if reference is not None and reference.bad.any():
            count = int(reference.bad.sum())
            lines.append(
                f"{count} of {len(reference.p)} reference clips {'is' if count == 1 else 'are'} "
                f"missed by the evaluated set (at most {100 * reference.fdr:g} % of these by chance)"
            )
        return lines

    @property
    def _finds_bad_clips(self) -> bool:
        """Whether the verdicts on single clips find what the score may not show."""
        diagnostics = self.measurement.diagnostics
        judgement = diagnostics.judgement if diagnostics is not None else None
        return (
            judgement is not None and judgement.evaluated is not None and judgement.evaluated.found
        )

    def notes(self) -> list[str]:
        """Caveats of the statistics, one sentence each."""
        notes, found, name = [], self.statistics, self.metric.name
        n, m = len(self.reference.files), len(self.evaluated.files)
        if found.floor is not None:
            least = 1.0 / (1 + found.floor.replicates)
            if least > SIGNIFICANT:
                notes.append(
                    f"{_permutations(found.floor)} cannot give a p below {least:.3g}; take 200."
                )
            elif found.floor.p_value > SIGNIFICANT:
                chance = (
                    f"two samples of one distribution score as much (p = {found.floor.p_value:.3g})"
                )
                notes.append(
                    f"A few bad clips hardly move {name}: {chance} at N = {n}, M = {m}. Trust the "
                    f"verdict on single clips; compare more clips before you rank by this score."
                    if self._finds_bad_clips
                    else f"{name} cannot tell the sets apart at N = {n}, M = {m}: {chance}; compare "
                    f"more clips before you rank by this score."
                )
        if self.outliers is not None:
            notes.append(self.outliers.note(name))
        if found.limit is not None and self.metric.unbiased:
            notes.append(
                f"{name} is unbiased at every N, so a fit in 1/N adds nothing: the score itself "
                f"is the estimate for infinitely many clips."
            )
        elif found.limit is not None and found.limit.r_squared < _GOOD_FIT:
            notes.append(
                f"The scores of {name} are not linear in 1/N (R² {found.limit.r_squared:.2f}): "
                f"do not rely on the limit."
            )
        return notes

    def remarks(self) -> list[str]:
        """What could not be computed, and what that would need."""
        diagnostics = self.measurement.diagnostics
        judgement = diagnostics.judgement if diagnostics is not None else None
        if judgement is None:
            return []
        if judgement.evaluated is None:
            return ["no verdicts on single clips: they need at least 2 reference clips"]
        short = judgement.evaluated.shortage()
        return [] if short is None else [short]


_FEW_DECIDE = "none, because a few far clips decide the score"


def _permutations(floor: Floor) -> str:
    return f"{floor.replicates} permutation{'' if floor.replicates == 1 else 's'}"


def embed_once(metrics: Sequence[AudioMetric], source: Source) -> list[EmbeddingSet]:
    """The embedded set for each metric; metrics with the same features use one set."""
    sets: dict[str, EmbeddingSet] = {}
    # those that need class scores first: their sets have the vectors too
    for metric in sorted(metrics, key=lambda metric: "class_scores" not in metric.accepts):
        if metric.spec.fingerprint not in sets:
            sets[metric.spec.fingerprint] = metric.embed(source)
    return [sets[metric.spec.fingerprint] for metric in metrics]


def evaluate(
    metric: AudioMetric,
    reference: Clips | EmbeddingSet,
    evaluated: Clips | EmbeddingSet,
    *,
    sample_rate: int | None = None,
    null: int = 0,
    interval: bool = False,
    limit: bool = False,
    excess: bool = False,
    fdr: float | None = None,
    groups: Groups | None = None,
    paired: bool = False,
    design: Design | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Evaluation:
    """The metric's score of two sets of clips, with the requested statistics.

    The sets are embedded already, or what ``AudioMetric.embed`` takes: folders, globs, manifests,
    shards, lists of files, or with ``sample_rate`` waveforms.

    ``null`` permutations give the floor and a p-value, ``interval`` a 95 % interval of the
    expected score at this N and M, ``limit`` the score for infinitely many clips, ``excess`` the
    excess over samples of one distribution. ``fdr`` adds verdicts on single clips (OTAD), of which
    it bounds the expected share of false alarms.

    ``groups`` are those of the reference and of the evaluated clips (default: the column ``group`` of
    their manifests): permutations stay within them, and verdicts compare a clip with its own group.
    ``paired`` says that clips of equal names, or of equal ``pair`` in their manifests, belong
    together: permutations swap partners only. Without either, permutations stay within subfolders
    that both sides have, or within twins, as those of the command do. ``design`` is any other design,
    such as ``otadtk.statistics.designs.Free(n + m)``.

    Raises:
        UsageError: Statistics that the metric does not have, too few clips for them, or the excess of
            sets with twins.
        AudioError: Files that cannot be scored; the message names all of them.

    Examples:
        >>> from otadtk import FAD, evaluate
        >>> result = evaluate(FAD("logmel"), "real/", "generated/", null=19)
        >>> 0 < result.statistics.floor.p_value <= 1
        True
        >>> result.headline().startswith("FAD: ")
        True
    """
    request = StatisticsRequest(null, interval, limit, excess, seed)  # checked before any work
    if (null or excess) and not metric.has_floor:
        raise UsageError(
            f"{metric.name} has no floor and no excess: {metric.why_no_floor}. Ask for an interval."
        )
    if limit and not metric.has_limit:
        raise UsageError(no_limit(metric.name))
    if not isinstance(reference, EmbeddingSet):
        reference = metric.embed(reference, sample_rate=sample_rate, workers=workers)
    if not isinstance(evaluated, EmbeddingSet):
        evaluated = metric.embed(evaluated, sample_rate=sample_rate, workers=workers)
    groups = groups if groups is not None else groups_of_manifests(reference, evaluated)
    if design is None and (null or paired or excess):
        design, remark = choose_design(reference, evaluated, groups=groups, paired=paired)
        if remark:
            logger.info("%s", remark)
    if excess:
        refuse_excess_of_twins({"the evaluated set": design})
    started = time.perf_counter()
    measurement = metric.measure(reference, evaluated)
    seconds = time.perf_counter() - started
    for note in measurement.notes:
        logger.warning("%s", note)
    engine = resolve_engine(metric.engine, workers)
    if fdr is not None and measurement.diagnostics is not None:
        judged = measurement.diagnostics.judged(fdr, groups=groups, seed=seed)
        measurement = replace(measurement, diagnostics=judged)
    request = replace(request, design=design, paired=paired)
    found = statistics_of(
        metric, reference, evaluated, request, score=measurement.score, engine=engine
    )
    result = Evaluation(metric, measurement, reference, evaluated, found, seconds)
    return result if result.outliers is None else replace(result, statistics=found.unbounded())


def statistics_of(
    metric: AudioMetric,
    reference: EmbeddingSet,
    evaluated: EmbeddingSet,
    request: StatisticsRequest,
    *,
    score: float,
    engine: Engine,
) -> Statistics:
    """The statistics of a metric on two embedded sets, all from one pool of their clips."""
    request = fitted(request, metric)
    paired = None
    by_vectors = reference.frames is None and "vectors" in metric.accepts
    if request.paired and isinstance(request.design, Pairs) and by_vectors:
        paired = paired_distance(metric.ground, reference, evaluated, request.design.pairs)
    if not request:
        return Statistics(paired=paired)
    distance = between_clips(metric, [reference, evaluated])
    sizes = len(reference.files), len(evaluated.files)
    found = statistics_between(distance, *sizes, request, score=score, engine=engine)
    return replace(found, paired=paired)


def fitted(request: StatisticsRequest, metric: AudioMetric) -> StatisticsRequest:
    """The request for this metric: its direction and bounds, and only what it has."""
    return replace(
        request,
        null=request.null if metric.has_floor else 0,
        excess=request.excess and metric.has_floor,
        higher_is_better=metric.higher_is_better,
        bounds=metric.bounds,
    )


def statistics_between(
    distance: SubsetDistance,
    n: int,
    m: int,
    request: StatisticsRequest,
    *,
    score: float,
    engine: Engine,
) -> Statistics:
    """The requested statistics of a distance in a pool of n reference and m evaluated clips."""
    how: _Resampling = {"seed": request.seed, "engine": engine}
    floor = interval = limit = excess = None
    if request.null > 0:
        floor = permutation_floor(
            distance,
            n,
            m,
            replicates=request.null,
            design=request.design,
            enough=request.enough,
            higher_is_better=request.higher_is_better,
            **how,
        )
    if request.interval:
        interval = jackknife_interval(distance, n, m, score=score, **how).within(*request.bounds)
    if request.limit:
        limit = extrapolate(distance, n, m, **how)
    if request.excess:
        excess = excess_score(distance, n, m, **how)
    return Statistics(floor, interval, limit, excess)


def between_clips(metric: AudioMetric, sets: Sequence[EmbeddingSet]) -> SubsetDistance:
    """The metric's distance between subsets of the clips of all sets, one set after the other.

    If frames are compared, a clip is drawn or left out with all of its frames, because the frames
    of a clip are not independent.
    """
    distance = metric.between_sets(sets)
    if sets[0].frames is None:
        return distance
    if any(sum(side.frame_counts) != len(side.points) for side in sets):
        raise UsageError(
            "Statistics draw clips with all their frames, but these sets do not say which clip each "
            "frame belongs to."
        )
    counts = np.concatenate([side.frame_counts for side in sets])
    ends = np.cumsum(counts)
    frames = [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)]

    def between(i: IndexArray, j: IndexArray) -> float:
        first, second = (np.concatenate([frames[clip] for clip in side]) for side in (i, j))
        return distance(first, second)

    return between
