"""Whether a set is worse than a baseline beyond noise: the decision of ``otadtk-gate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from otadtk.errors import UsageError
from otadtk.statistics.differences import Difference, jackknife_difference
from otadtk.tracking.record import ClipRecord, Record

MOST_UNLIKE = 0.02
"""The share by which two numbers of clips may differ: the expected score depends on the number."""
_POWER = 0.84
"""The normal quantile of 80 %."""
_NORMAL = 1.96
"""That of the interval's tail."""


@dataclass(frozen=True, eq=False)
class Gate:
    """The rise of a score over a baseline's, and whether that is too much."""

    baseline: Record
    current: Record
    difference: Difference
    """How much worse the current set is: above 0 where it is farther from the reference."""
    max_rise: float | None
    """A rise that is allowed even if it is more than noise."""
    paired: bool

    @property
    def beyond_noise(self) -> bool:
        """Whether the 95 % interval of the rise is above 0: of equal sets 1 in 40 is that."""
        return self.difference.low > 0.0

    @property
    def worse(self) -> bool:
        """Whether the gate fails: worse beyond noise, and by more than is allowed."""
        return self.beyond_noise and self.difference.value > (self.max_rise or 0.0)

    @property
    def detectable(self) -> float:
        """The true rise that would fail in about 80 % of all runs with these numbers of clips."""
        noise = self.difference.deviation
        return _POWER * noise + max(self.max_rise or 0.0, _NORMAL * noise)

    @property
    def word(self) -> str:
        """What a change for the worse is: a rise, or a loss where higher is better."""
        return "loss" if self.current.higher_is_better else "rise"

    def sentence(self) -> str:
        """The result in one line."""
        rise = self.difference
        found = (
            f"{self.current.metric} {self.baseline.score:.6f} → {self.current.score:.6f}, "
            f"{'worse' if rise.value >= 0 else 'better'} by {abs(rise.value):.6f} "
            f"(95 % interval of the {self.word} {rise.low:.6f} to {rise.high:.6f})"
        )
        if self.worse:
            return f"worse: {found}"
        if self.beyond_noise:
            return f"not worse than allowed ({self.max_rise:g}): {found}"
        if rise.high < 0:
            return f"better: {found}"
        return f"not worse beyond noise: {found}"

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


def decide(
    baseline: Record, current: Record, *, max_rise: float | None = None, paired: bool = False
) -> Gate:
    """The gate between two runs; a UsageError if these cannot be compared.

    The rise is a difference of two scores from the same reference, by a jackknife in which both leave
    out the same reference clips. With ``paired`` the k-th clips of both belong together, too.
    """
    refuse_unlike(baseline, current.reference, current.choices)
    clips = baseline.clips, current.clips
    if max(clips) - min(clips) > (0 if paired else MOST_UNLIKE * max(clips)):
        raise UsageError(
            f"The baseline has {clips[0]} clips and this set {clips[1]}: {current.metric} depends on "
            f"that number; take the same."
        )
    if paired and list(baseline.by_clip) != list(current.by_clip):
        raise UsageError(
            "--paired needs the same clip names in both runs, and the baseline has others."
        )
    for title, record in (("baseline", baseline), ("set", current)):
        if not record.interval.holds:
            raise UsageError(
                f"The gate cannot decide: a few far clips decide the {record.metric} of the {title}, "
                f"{record.score:.6g}; its notes name them."
            )
    sides = (baseline, current) if current.higher_is_better else (current, baseline)
    difference = jackknife_difference(sides[0].interval, sides[1].interval, paired=paired)
    return Gate(baseline, current, difference, max_rise, paired)
