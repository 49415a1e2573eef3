"""Ranks several systems by their distance from a reference, with intervals of the differences."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from otadtk.embed import EmbeddingSet
from otadtk.engine import resolve_engine
from otadtk.errors import UsageError
from otadtk.evaluation.designs import choose_design, refuse_excess_of_twins
from otadtk.evaluation.evaluate import (
    Statistics,
    StatisticsRequest,
    between_clips,
    fitted,
    statistics_between,
)
from otadtk.evaluation.outliers import find_outliers
from otadtk.evaluation.written import Written
from otadtk.metrics import AudioMetric, Measurement, PathLike
from otadtk.metrics.diagnostics import OTADDiagnostics
from otadtk.statistics.designs import Design
from otadtk.statistics.differences import (
    Difference,
    Method,
    bootstrap_difference,
    bootstrap_scores,
    jackknife_difference,
)
from otadtk.statistics.resampling import (
    SIGNIFICANT,
    FloatArray,
    IndexArray,
    Interval,
    SubsetDistance,
    require_at_least,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class System:
    """One of the compared systems."""

    name: str
    clips: int
    score: float
    statistics: Statistics
    """The interval of its score, and the floor and the excess if they were asked for."""
    measurement: Measurement
    caveats: tuple[str, ...] = ()
    """What the statistics of this system cannot say."""

    @property
    def interval(self) -> Interval:
        """The 95 % interval of its score."""
        assert self.statistics.interval is not None
        return self.statistics.interval

    @property
    def diagnostics(self) -> OTADDiagnostics | None:
        """The costs of its clips; ``None`` if the metric has none."""
        return self.measurement.diagnostics


@dataclass(frozen=True, repr=False)
class Comparison(Written):
    """The systems by one metric, closest first, and the difference between every two.

    ``compare`` makes it. ``systems`` have ``name``, ``score`` and ``statistics``.

    Examples:
        >>> from otadtk import FAD, compare
        >>> ranking = compare(FAD("logmel"), "real/", {"ours": "generated/", "copy": "real/"})
        >>> difference = ranking.differences["copy", "ours"]
        >>> difference.low <= difference.value <= difference.high
        True
    """

    metric: AudioMetric
    reference_clips: int
    systems: tuple[System, ...]
    differences: Mapping[tuple[str, str], Difference]
    """By the names of two systems: score of the first minus score of the second."""
    paired: bool
    seed: int
    name_mismatch: str = ""
    """A sentence on paired clips of different names; empty if there are none."""

    def __repr__(self) -> str:
        order = ", ".join(f"{system.name} {system.score:.6f}" for system in self.systems)
        return f"Comparison({self.metric!r}, {order}; {self.reference_clips} reference clips)"

    @property
    def title(self) -> str:
        """The metric, which of its numbers ranks the systems, and which way is better."""
        named = self.systems[0].measurement.named
        return f"{' '.join(filter(None, (self.metric.label, named)))}, {self.metric.direction()}"

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance for every score."""
        return all(system.measurement.converged for system in self.systems)

    @property
    def method(self) -> Method:
        """The method of the intervals of the differences."""
        return next(iter(self.differences.values())).method

    def lead(self, rank: int) -> Difference | None:
        """The difference from the system of that rank (from 0) to the next; ``None`` for the last."""
        if rank + 1 >= len(self.systems):
            return None
        names = [system.name for system in self.systems[rank : rank + 2]]
        first, second = reversed(names) if self.metric.higher_is_better else names
        return self.differences[first, second]

    def notes(self) -> list[str]:
        """Caveats of the ranking, one sentence each."""
        notes = [self.name_mismatch] if self.name_mismatch else []
        notes += [caveat for system in self.systems for caveat in system.caveats]
        floors = {system.name: system.statistics.floor for system in self.systems}
        alike = [
            f"{name} (p = {floor.p_value:.3g})"
            for name, floor in floors.items()
            if floor is not None and floor.p_value > SIGNIFICANT
        ]
        if alike:
            notes.append(
                f"{self.metric.name} cannot tell {', '.join(alike)} from the reference: two samples "
                f"of one distribution score as much at these numbers of clips."
            )
        sizes = {system.clips for system in self.systems}
        if len(sizes) > 1 and not self.metric.unbiased:
            notes.append(
                f"The systems have between {min(sizes)} and {max(sizes)} clips: {self.metric.name} "
                f"{self._effect_of_size()}; compare equal numbers"
                f"{', or the excess (--excess)' if self.metric.has_floor else ''}."
            )
        return notes

    def _effect_of_size(self) -> str:
        if self.metric.higher_is_better:
            return "depends on the number of clips"
        return "falls with the number of clips, so the smaller sets are at a disadvantage"


def compare(
    metric: AudioMetric,
    reference: PathLike | EmbeddingSet,
    systems: Mapping[str, PathLike | EmbeddingSet],
    *,
    paired: bool = False,
    bootstrap: int = 0,
    null: int = 0,
    enough: int | None = None,
    excess: bool = False,
    designs: Mapping[str, Design | None] | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Comparison:
    """The systems ranked by their distance from the reference, with every difference's interval.

    Differences come from a jackknife, or from ``bootstrap`` replicates if that is not 0. Each
    replicate uses the same reference clips for all systems. ``paired``: the k-th clips of all
    systems belong together, as for the same prompts. Intervals of scores come from a jackknife.

    ``null`` permutations give the floor of each system and ``excess`` its excess, as ``evaluate``
    does. ``designs`` says which clips of a system may change places with the reference, by its name
    (default: as for ``evaluate``).

    Raises:
        UsageError: Fewer than two systems, paired systems of different sizes, or the excess of systems
            with twins in the reference.
        AudioError: Files that cannot be scored; the message names all of them.

    Examples:
        >>> from otadtk import FAD, compare
        >>> ranking = compare(FAD("logmel"), "real/", {"ours": "generated/", "copy": "real/"})
        >>> [system.name for system in ranking.systems]
        ['copy', 'ours']
    """
    require_at_least(bootstrap, 0, "bootstrap")
    require_at_least(seed, 0, "seed")
    if len(systems) < 2:
        raise UsageError("A comparison needs at least two systems.")
    real = _embedded(metric, reference, workers)
    sides = {name: _embedded(metric, side, workers) for name, side in systems.items()}
    sizes = [len(side.files) for side in sides.values()]
    if paired and len(set(sizes)) > 1:
        raise UsageError(f"Paired systems need equal numbers of clips, not {sizes}.")
    chosen = dict(designs or {})
    for name, side in sides.items():
        if chosen.get(name) is None and (null or excess):
            chosen[name], _ = choose_design(real, side)
    if excess:
        refuse_excess_of_twins(chosen)
    n, engine = len(real.files), resolve_engine(metric.engine, workers)
    distance = between_clips(metric, [real, *sides.values()])
    found: list[System] = []
    start = 0
    for (name, side), size in zip(sides.items(), sizes, strict=True):
        measured = metric.measure(real, side)
        if measured.description:
            logger.info("%s: %s", name, measured.description)
        request = StatisticsRequest(
            null,
            interval=True,
            excess=excess,
            seed=seed,
            design=chosen.get(name),
            enough=enough,
        )
        request = fitted(request, metric)
        own = _of_system(distance, n, start)
        statistics = statistics_between(own, n, size, request, score=measured.score, engine=engine)
        far = find_outliers(metric, real, side)
        caveats = () if far is None else (far.note(f"{metric.name} of {name}"),)
        held = statistics if far is None else statistics.unbounded()
        found.append(System(name, size, measured.score, held, measured, caveats))
        start += size
    for line in said_once({system.name: system.measurement.notes for system in found}):
        logger.warning("%s", line)
    replicates = dict[str, FloatArray]()
    if bootstrap:
        columns = bootstrap_scores(
            distance,
            n,
            sizes,
            replicates=bootstrap,
            paired=paired,
            seed=seed,
            engine=engine,
        ).T
        replicates = dict(zip(sides, columns, strict=True))

    def difference(first: System, second: System) -> Difference:
        if not bootstrap:
            return jackknife_difference(first.interval, second.interval, paired=paired)
        value = first.score - second.score
        drawn = bootstrap_difference(value, replicates[first.name], replicates[second.name])
        return drawn if first.interval.holds and second.interval.holds else drawn.unbounded()

    found.sort(key=lambda system: system.score, reverse=metric.higher_is_better)
    differences = {
        (first.name, second.name): difference(first, second)
        for first, second in permutations(found, 2)
    }
    mismatch = _name_mismatch(sides) if paired else ""
    return Comparison(metric, n, tuple(found), differences, paired, seed, mismatch)


def _embedded(
    metric: AudioMetric, side: PathLike | EmbeddingSet, workers: int | None
) -> EmbeddingSet:
    return side if isinstance(side, EmbeddingSet) else metric.embed(side, workers=workers)


def _name_mismatch(systems: Mapping[str, EmbeddingSet]) -> str:
    """A sentence on the first paired clips of different names; empty if there are none.

    Clips whose manifests say which belong together may have any names.
    """
    if all(side.column("pair") for side in systems.values()):
        return ""
    for clips in zip(*(side.files for side in systems.values()), strict=True):
        if len({clip.stem for clip in clips}) > 1:
            names = " and ".join(str(clip) for clip in clips)
            return f"Clips are paired by their order, but their names differ: {names}, for example."
    return ""


def said_once(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Each note once, after the names of all that have it; numbers in it are those of the first.

    >>> said_once({"a": ["epsilon = 0.1 is small."], "b": ["epsilon = 0.2 is small."]})
    ['a, b: epsilon = 0.1 is small.']
    """
    names: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for name, several in notes.items():
        for note in several:
            kind = re.sub(r"\d[\d.e+-]*", "#", note)
            names.setdefault(kind, []).append(name)
            first.setdefault(kind, note)
    return [f"{', '.join(names[kind])}: {note}" for kind, note in first.items()]


def _of_system(distance: SubsetDistance, n: int, start: int) -> SubsetDistance:
    """The distance in the pool of the n reference clips and one system, which starts later in all."""

    def places(clips: IndexArray) -> IndexArray:
        return np.where(clips < n, clips, clips + start)

    return lambda i, j: distance(places(i), places(j))
