"""The scores of one model over its training: steps in order, and which change is more than noise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from otadtk.statistics.differences import Difference, jackknife_difference
from otadtk.statistics.resampling import show_span
from otadtk.tracking.record import ClipRecord, Record

SIGNIFICANT = 0.05
"""The chance that any change of an unchanged model is called more than noise."""


@dataclass(frozen=True, eq=False)
class Step:
    """One checkpoint: its name, its place on the axis and its record."""

    name: str
    number: int
    record: Record


@dataclass(frozen=True, eq=False)
class Change:
    """How much worse one step is than an earlier one."""

    before: Step
    after: Step
    difference: Difference
    """Above 0 where the later step is worse."""
    p_value: float
    """Of "no change", adjusted for how many changes are looked at."""

    @property
    def beyond_noise(self) -> bool:
        """Whether the change is more than noise."""
        return self.p_value <= SIGNIFICANT

    @property
    def word(self) -> str:
        """The change in a word or two."""
        if not self.difference.holds:
            return "unknown"
        if not self.beyond_noise:
            return "within noise"
        return "worse" if self.difference.value > 0 else "better"


@dataclass(frozen=True)
class ClipChange:
    """A clip that two steps have under one name."""

    name: str
    before: ClipRecord
    after: ClipRecord

    @property
    def rise(self) -> float:
        """By how much its cost has risen."""
        return self.after.cost - self.before.cost


@dataclass(frozen=True, eq=False)
class Trend:
    """The steps of a training in order."""

    steps: tuple[Step, ...]

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """From each step to the next, adjusted by Holm's rule for their number."""
        pairs = list(zip(self.steps[:-1], self.steps[1:], strict=True))
        found = [_difference(before, after) for before, after in pairs]
        adjusted = holm([_two_sided(difference) for difference in found])
        return tuple(
            Change(before, after, difference, p)
            for (before, after), difference, p in zip(pairs, found, adjusted, strict=True)
        )

    @property
    def last(self) -> Step:
        """The latest step."""
        return self.steps[-1]

    @property
    def best(self) -> Step:
        """The step of the best score; the latest of equal ones."""
        sign = -1.0 if self.last.record.higher_is_better else 1.0
        return min(reversed(self.steps), key=lambda step: sign * step.record.score)

    @cached_property
    def since_best(self) -> Change | None:
        """From the best step to the last; ``None`` if that is the best.

        The best of several scores is lower than it deserves by chance, so p is taken as many times as
        there are earlier steps.
        """
        if self.best is self.last:
            return None
        difference = _difference(self.best, self.last)
        p = min(1.0, (len(self.steps) - 1) * _two_sided(difference))
        return Change(self.best, self.last, difference, p)

    @property
    def compared(self) -> Change | None:
        """The change whose clips are worth a look.

        Since the best step if that was better beyond noise, else since the previous one.
        """
        since = self.since_best
        if since is not None and since.beyond_noise:
            return since
        return self.changes[-1] if self.changes else None

    def got_worse(self) -> list[ClipChange]:
        """The clips of both ends of that change whose cost has risen, largest rise first."""
        change = self.compared
        if change is None:
            return []
        before, after = change.before.record.by_clip, change.after.record.by_clip
        both = [ClipChange(n, before[n], clip) for n, clip in after.items() if n in before]
        return sorted((clip for clip in both if clip.rise > 0), key=lambda clip: -clip.rise)

    def sentences(self) -> list[str]:
        """What the trend says, one sentence each."""
        last, best, since = self.last, self.best, self.since_best
        found = [f"{last.record.metric} of {last.name} is {last.record.score:.6f}."]
        if since is None and len(self.steps) > 1:
            found.append("It is the best step so far.")
        elif since is not None:
            rise = since.difference
            noise = "more than noise" if since.beyond_noise else since.word
            if (earlier := len(self.steps) - 1) > 1:  # p counts them; the interval does not
                noise += f" for the best of {earlier}"
            found.append(
                f"The best was {best.name} with {best.record.score:.6f}; since then it got worse by "
                f"{rise.value:.6f} (95 % interval {show_span(rise.low, rise.high)}), {noise}."
            )
        clear = [change for change in self.changes if change.beyond_noise]
        if clear:
            named = ", ".join(f"{change.after.name} ({change.word})" for change in clear)
            found.append(f"Changes beyond noise from one step to the next: {named}.")
        elif self.changes:
            found.append("No change from one step to the next is more than noise.")
        return found


def in_order(records: Mapping[str, Record]) -> Trend:
    """The trend of records by the names of their steps.

    A step is placed by the last number in its name, if all names have one and no two the same; else
    the steps are counted in the order of their names.
    """
    numbers = {name: re.findall(r"\d+", name) for name in records}
    last = {name: int(found[-1]) for name, found in numbers.items() if found}
    if len(set(last.values())) < len(records):
        ordered = sorted(records, key=_natural)
        last = {name: place for place, name in enumerate(ordered, 1)}
    steps = [Step(name, last[name], record) for name, record in records.items()]
    return Trend(tuple(sorted(steps, key=lambda step: step.number)))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number (Holm, Scandinavian Journal of Statistics 6, 1979).

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = largest
    return adjusted


def _difference(before: Step, after: Step) -> Difference:
    sides = (after.record, before.record)
    first, second = sides[::-1] if after.record.higher_is_better else sides
    return jackknife_difference(first.interval, second.interval)


def _two_sided(difference: Difference) -> float:
    if not difference.holds:
        return 1.0
    return 2.0 * min(difference.probability, 1.0 - difference.probability)


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts numbers in names by their value."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
