"""Which of several sets is closest to the reference, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from otadtk.diagnosis import OTADDiagnostics
from otadtk.differences import (
    Difference,
    Method,
    bootstrap_difference,
    bootstrap_scores,
    jackknife_difference,
)
from otadtk.distances.kernel import KernelDistance
from otadtk.embed import EmbeddingSet
from otadtk.engine import default_workers
from otadtk.errors import UsageError
from otadtk.metrics import AudioMetric
from otadtk.resampling import FloatArray, Interval, SubsetDistance, jackknife_interval
from otadtk.scoring import between_clips


@dataclass(frozen=True)
class System:
    """One of the compared sets."""

    name: str
    clips: int
    score: float
    interval: Interval
    diagnostics: OTADDiagnostics | None = None
    """OTAD's costs of its clips."""
    kernel: KernelDistance | None = None
    """KAD's bandwidth."""


@dataclass(frozen=True)
class Comparison:
    """The systems by one metric, closest first, and the difference of every two of them."""

    metric: AudioMetric
    reference_clips: int
    systems: tuple[System, ...]
    differences: Mapping[tuple[str, str], Difference]
    """By the names of two systems: score of the first less that of the second."""
    paired: bool
    seed: int
    converged: bool
    """Whether the solver met its tolerance for every score."""
    unlike_pair: str = ""
    """What is odd about the names of paired clips, if anything is."""

    @property
    def method(self) -> Method:
        """By what the intervals of the differences were found."""
        return next(iter(self.differences.values())).method

    def lead(self, rank: int) -> Difference | None:
        """How much closer the system of that rank (from 0) is than the next; None for the last."""
        if rank + 1 >= len(self.systems):
            return None
        return self.differences[self.systems[rank].name, self.systems[rank + 1].name]

    def notes(self) -> list[str]:
        """What a reader of the ranking should know, one sentence each."""
        notes = [self.unlike_pair] if self.unlike_pair else []
        sizes = {system.clips for system in self.systems}
        if len(sizes) == 1 or self.metric.unbiased:
            return notes
        return [
            *notes,
            f"The systems have between {min(sizes)} and {max(sizes)} clips: {self.metric.name} "
            f"falls with the number of clips, so the smaller sets are at a disadvantage; compare "
            f"equal numbers.",
        ]


def compare(
    metric: AudioMetric,
    reference: EmbeddingSet,
    systems: Mapping[str, EmbeddingSet],
    *,
    paired: bool = False,
    bootstrap: int = 0,
    seed: int = 0,
    workers: int | None = None,
) -> Comparison:
    """The systems ranked by their distance from the reference, with every difference's interval.

    Differences come from a jackknife, or from so many ``bootstrap`` replicates; in either all
    systems meet the same reference clips. ``paired`` says that the k-th clips of all systems
    belong together, as for the same prompts. Intervals of single scores come from a jackknife.
    """
    if len(systems) < 2:
        raise UsageError("A comparison needs at least two systems.")
    sizes = [len(side.files) for side in systems.values()]
    if paired and len(set(sizes)) > 1:
        raise UsageError(f"Paired systems have equal numbers of clips, not {sizes}.")
    n, workers = len(reference.files), workers or default_workers()
    distance = between_clips(metric, [reference, *systems.values()])
    found: list[System] = []
    start, converged = 0, True
    for (name, side), size in zip(systems.items(), sizes, strict=True):
        interval = jackknife_interval(
            *(_behind(distance, start), n, size), seed=seed, workers=workers, engine=metric.engine
        )
        measured = metric.measure(reference, side, name=name)
        if measured.diagnostics is not None and measured.diagnostics.transport is not None:
            converged = converged and measured.diagnostics.transport.converged
        found.append(
            System(name, size, measured.score, interval, measured.diagnostics, measured.kernel)
        )
        start += size
    replicates = dict[str, FloatArray]()
    if bootstrap:
        columns = bootstrap_scores(
            *(distance, n, sizes),
            replicates=bootstrap,
            paired=paired,
            seed=seed,
            workers=workers,
            engine=metric.engine,
        ).T
        replicates = dict(zip(systems, columns, strict=True))

    def difference(first: System, second: System) -> Difference:
        if not bootstrap:
            return jackknife_difference(first.interval, second.interval, paired=paired)
        value = first.score - second.score
        return bootstrap_difference(value, replicates[first.name], replicates[second.name])

    found.sort(key=lambda system: system.score)
    differences = {
        (first.name, second.name): difference(first, second)
        for first, second in permutations(found, 2)
    }
    unlike = _unlike_pair(systems) if paired else ""
    return Comparison(metric, n, tuple(found), differences, paired, seed, converged, unlike)


def _unlike_pair(systems: Mapping[str, EmbeddingSet]) -> str:
    """A sentence on the first clips that are paired and have other names; empty if none have."""
    for clips in zip(*(side.files for side in systems.values()), strict=True):
        if len({clip.stem for clip in clips}) > 1:
            names = " and ".join(str(clip) for clip in clips)
            return f"Clips are paired by their order, and their names differ: {names}, first."
    return ""


def _behind(distance: SubsetDistance, clips: int) -> SubsetDistance:
    """The same for evaluated clips that stand so many clips farther behind the reference."""
    return lambda i, j: distance(i, j + clips)
