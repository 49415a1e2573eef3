"""Whether a set is worse than a baseline beyond noise: the decision of ``otadtk-gate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

from otadtk.errors import UsageError
from otadtk.evaluation.compare import Comparison, System
from otadtk.statistics.differences import Difference, jackknife_difference
from otadtk.statistics.farther import p_farther
from otadtk.statistics.resampling import FloatArray, Interval
from otadtk.tracking.record import ClipRecord, Record

LEVEL = 0.025
"""The chance that an unchanged model is called worse."""
MOST_UNLIKE = 0.02
"""The share by which two numbers of clips may differ: the expected score depends on the number."""
_POWER = NormalDist().inv_cdf(0.8)


@dataclass(frozen=True)
class Scored:
    """What is known of one set: its score, and how far its clips are from the reference."""

    interval: Interval
    distances: FloatArray | None = None


@dataclass(frozen=True)
class Rise:
    """How much worse one set is than another, by its score and by the distances of its clips."""

    metric: str
    before: float
    after: float
    word: str
    """What a change for the worse is: a rise, or a loss where higher is better."""
    difference: Difference
    """How much worse the score is: above 0 where the set is farther from the reference."""
    clips_p: float | None
    """The p-value of "no more clips are far from the reference"; ``None`` if these are not known."""
    level: float
    """The chance of a false alarm in each of the two tests, or in the one of the scores."""

    @property
    def score_rose(self) -> bool:
        """Whether the interval of the difference is above 0."""
        return self.difference.low > 0.0

    @property
    def clips_farther(self) -> bool:
        """Whether more clips are far from the reference than chance allows."""
        return self.clips_p is not None and self.clips_p <= self.level

    @property
    def beyond_noise(self) -> bool:
        """Whether either test says so."""
        return self.score_rose or self.clips_farther

    @property
    def interval_name(self) -> str:
        """What the interval of the difference is, as "95 % interval"."""
        return f"{100 * (1 - 2 * self.level):.4g} % interval"

    def too_much(self, allowed: float | None = None) -> bool:
        """Whether it is beyond noise, and the score rose by more than is allowed."""
        return self.beyond_noise and (allowed is None or self.difference.value > allowed)

    def sentence(self, allowed: float | None = None) -> str:
        """The result in one line."""
        by = self.difference
        found = (
            f"{self.metric} {self.before:.6f} → {self.after:.6f}, "
            f"{'worse' if by.value >= 0 else 'better'} by {abs(by.value):.6f} "
            f"({self.interval_name} of the {self.word} {by.low:.6f} to {by.high:.6f})"
        )
        if self.clips_p is not None:
            more, sign = ("more", "≤") if self.clips_farther else ("no more", ">")
            found += (
                f"; {more} clips are far from the reference than chance allows "
                f"(p = {self.clips_p:.2g} {sign} {self.level:.3g})"
            )
        if self.too_much(allowed):
            return f"worse: {found}"
        if self.beyond_noise:
            return f"not worse than allowed ({allowed:g}): {found}"
        return f"{'better' if by.high < 0 else 'not worse beyond noise'}: {found}"


def rise_of(
    metric: str,
    current: Scored,
    baseline: Scored,
    *,
    higher_is_better: bool = False,
    paired: bool = False,
    level: float = LEVEL,
) -> Rise:
    """How much worse one set is than another: two tests that share the level, by Bonferroni's rule.

    The expected score is tested by a jackknife. A tenth of bad clips raises it by little, but the
    distances of these by much; the test of the distances does not see what all clips lack together.
    """
    for title, side in (("baseline", baseline), ("set", current)):
        if not side.interval.holds:
            raise UsageError(
                f"Whether it is worse cannot be told: a few far clips decide the {metric} of the "
                f"{title}, {side.interval.score:.6g}; its notes name them."
            )
    before, after, p = baseline.distances, current.distances, None
    if before is not None and after is not None:
        level = 0.5 * level
        p = p_farther(before, after, seed=current.interval.seed)
    sides = (baseline, current) if higher_is_better else (current, baseline)
    intervals = [side.interval for side in sides]
    difference = jackknife_difference(*intervals, paired=paired, tail=level)
    word = "loss" if higher_is_better else "rise"
    scores = baseline.interval.score, current.interval.score
    return Rise(metric, *scores, word, difference, p, level)


def rises_in(comparison: Comparison, baseline: str) -> dict[str, Rise]:
    """How much worse the other systems are than one of them; all of them share the level."""
    metric, systems = comparison.metric, {system.name: system for system in comparison.systems}
    scored = {name: _scored(system) for name, system in systems.items()}
    own = systems.pop(baseline)
    for system in systems.values():
        refuse_other_size(metric.name, own.clips, system.clips, paired=comparison.paired)
    return {
        name: rise_of(
            metric.name,
            scored[name],
            scored[baseline],
            higher_is_better=metric.higher_is_better,
            paired=comparison.paired,
            level=LEVEL / len(systems),
        )
        for name in systems
    }


def _scored(system: System) -> Scored:
    found = system.diagnostics
    if found is None or found.evidence is None:
        return Scored(system.interval)
    return Scored(system.interval, found.distances())


@dataclass(frozen=True, eq=False)
class Gate:
    """The rise of a score over a baseline's, and whether that is too much."""

    baseline: Record
    current: Record
    rise: Rise
    max_rise: float | None
    """A rise that is allowed even if it is more than noise."""
    paired: bool

    @property
    def difference(self) -> Difference:
        """How much worse the score of the current set is."""
        return self.rise.difference

    @property
    def worse(self) -> bool:
        """Whether the gate fails: worse beyond noise, and by more than is allowed."""
        return self.rise.too_much(self.max_rise)

    @property
    def detectable(self) -> float:
        """The true rise of the score that would fail in about 80 % of all runs of this size."""
        noise = self.difference.deviation
        beyond_noise = NormalDist().inv_cdf(1.0 - self.rise.level) * noise
        return _POWER * noise + max(self.max_rise or 0.0, beyond_noise)

    @property
    def word(self) -> str:
        """What a change for the worse is: a rise, or a loss where higher is better."""
        return self.rise.word

    def sentence(self) -> str:
        """The result in one line."""
        return self.rise.sentence(self.max_rise)

    def newly_bad(self) -> list[tuple[str, ClipRecord]]:
        """Clips that are worse than chance allows and were not in the baseline, costliest first.

        Clips whose names the baseline does not have count as new.
        """
        known = self.baseline.by_clip
        found = [
            (name, clip)
            for name, clip in self.current.by_clip.items()
            if clip.bad and not (name in known and known[name].bad)
        ]
        return sorted(found, key=lambda each: -each[1].cost)


def refuse_unlike(baseline: Record, reference: str, choices: Mapping[str, str]) -> None:
    """A UsageError if runs with this reference and these choices do not compare with the baseline."""
    unlike = baseline.unlike(reference, choices)
    if unlike is not None:
        raise UsageError(f"The baseline cannot be compared with this run: {unlike}.")


def refuse_other_size(metric: str, baseline: int, current: int, *, paired: bool) -> None:
    """A UsageError if two sets have numbers of clips of which different scores are expected."""
    larger = max(baseline, current)
    if abs(baseline - current) > (0 if paired else MOST_UNLIKE * larger):
        raise UsageError(
            f"The baseline has {baseline} clips and this set {current}: {metric} depends on that "
            f"number; take the same."
        )


def belong_together(baseline: Record, current: Record) -> bool:
    """Whether the k-th clips of both runs have the same ``pair``, or else the same name."""
    if baseline.pairs and current.pairs:
        return baseline.pairs == current.pairs
    return list(baseline.by_clip) == list(current.by_clip)


def decide(
    baseline: Record, current: Record, *, max_rise: float | None = None, paired: bool = False
) -> Gate:
    """The gate between two runs; a UsageError if these cannot be compared.

    The rise is a difference of two scores from the same reference, by a jackknife in which both leave
    out the same reference clips. With ``paired`` the k-th clips of both belong together, too.
    Beside it the distances of the single clips are compared, if both runs have them.
    """
    refuse_unlike(baseline, current.reference, current.choices)
    refuse_other_size(current.metric, baseline.clips, current.clips, paired=paired)
    if paired and not belong_together(baseline, current):
        raise UsageError(
            "--paired needs the same clips in both runs, by their names or by the column pair of "
            "manifests, in the same order; the baseline has others."
        )
    rise = rise_of(
        current.metric,
        Scored(current.interval, current.distances),
        Scored(baseline.interval, baseline.distances),
        higher_is_better=current.higher_is_better,
        paired=paired,
    )
    return Gate(baseline, current, rise, max_rise, paired)
