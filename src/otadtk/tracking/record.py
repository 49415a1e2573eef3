"""One scored set, read back from its JSON document: all that another run is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from otadtk.errors import UsageError
from otadtk.files.printable import readable
from otadtk.metrics.verdicts import BAD
from otadtk.statistics.jackknife import Side, Without
from otadtk.statistics.resampling import FloatArray, Interval

NO_PROTOCOL = "none"
_LARGEST = 1e100
"""No score of embeddings is as large; its square is finite still."""
_NO_CHOICE = frozenset({"max_memory", "seed"})
"""Settings that do not decide what is measured."""


@dataclass(frozen=True)
class ClipRecord:
    """What a run says of one evaluated clip."""

    file: str
    cost: float
    bad: bool | None
    """Whether it is worse than chance allows; ``None`` without verdicts."""
    distance: float | None = None
    """From the reference, as other clips have no say in it; ``None`` without verdicts."""
    pair: str = ""
    """What it has in common with clips of other sets, by a manifest."""


@dataclass(frozen=True)
class FloorRecord:
    """What two samples of one distribution score."""

    mean: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class ShareRecord:
    """The share of spoilt clips with its 95 % interval, and how many single ones were found."""

    estimate: float
    low: float
    high: float
    bad: int


@dataclass(frozen=True, eq=False)
class Record:
    """The score of one evaluated set by one metric, with what a comparison with others needs."""

    metric: str
    path: str
    """Of the evaluated clips."""
    reference: str
    """The content of the reference, as a hash."""
    evaluated: str
    """The content of the evaluated clips, as a hash."""
    clips: int
    choices: Mapping[str, str]
    """What decides a score beside the clips, by name: runs that differ in one cannot be compared."""
    higher_is_better: bool
    score: float
    interval: Interval
    floor: FloorRecord | None
    share: ShareRecord | None
    by_clip: Mapping[str, ClipRecord] = field(repr=False)
    """The evaluated clips by their names below the folder; empty for a metric without costs."""
    version: str
    """Of otadtk."""

    @classmethod
    def of(cls, document: Mapping[str, Any], metric: str, source: str) -> Record:
        """The result of a metric in the document of a run; ``source`` names it in messages."""
        if document.get("kind") != "score":
            raise UsageError(
                f"{source} is the document of a {document.get('kind')!r}; a score is needed, as "
                f"otadtk MODEL REF EVAL --ci --json writes it."
            )
        try:
            return cls._of(document, metric, source)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = readable(str(error))
            raise UsageError(f"{source} is damaged: {what} is not there as expected.") from error

    @classmethod
    def _of(cls, document: Mapping[str, Any], metric: str, source: str) -> Record:
        results = {result["metric"]: result for result in document["results"]}
        if metric not in results:
            others = readable(", ".join(map(str, results)))
            raise UsageError(f"{source} has no score of {metric}, only of {others}.")
        result, sets = results[metric], document["sets"]
        if result["statistics"]["interval"] is None or "content" not in sets["reference"]:
            raise UsageError(
                f"{source} lacks the interval or the hash of its clips: write it anew, by "
                f"otadtk … --ci --json or otadtk-gate … --json."
            )
        protocol = document["provenance"].get("protocol")
        folder = sets["evaluated"]["path"]
        return cls(
            metric=metric,
            path=folder,
            reference=sets["reference"]["content"],
            evaluated=sets["evaluated"]["content"],
            clips=_count(sets["evaluated"]["clips"]),
            choices=choices_of(
                result, sets["evaluated"]["compared"], protocol["name"] if protocol else NO_PROTOCOL
            ),
            higher_is_better=result["higher_is_better"],
            score=_finite(result["score"]),
            interval=_interval(result["statistics"]["interval"]),
            floor=_floor(result["statistics"]["floor"]),
            share=_share(result.get("verdicts")),
            by_clip=_clips(result.get("clips", []), folder),
            version=document["provenance"]["otadtk"],
        )

    @property
    def distances(self) -> FloatArray | None:
        """Of the clips from the reference; ``None`` if they are not known."""
        found = [clip.distance for clip in self.by_clip.values()]
        known = [distance for distance in found if distance is not None]
        return np.asarray(known) if known and len(known) == len(found) == self.clips else None

    @property
    def pairs(self) -> list[str]:
        """What the clips have in common with those of other sets, if a manifest says it of all."""
        found = [clip.pair for clip in self.by_clip.values()]
        return found if all(found) else []

    def unlike(self, reference: str, choices: Mapping[str, str]) -> str | None:
        """The first thing in which a run differs and may not; ``None`` if both can be compared."""
        if self.reference != reference:
            return "the reference has other clips, or the same in another order"
        for name in {**self.choices, **choices}:
            mine, theirs = (side.get(name, "not set") for side in (self.choices, choices))
            if mine != theirs:
                return readable(f"{name}: {mine} there, {theirs} here")
        return None


def choices_of(described: Mapping[str, Any], compared: str, protocol: str) -> dict[str, str]:
    """What decides a score beside the clips, of a metric as documents describe it."""
    adapter, settings = described.get("adapter"), described["settings"]
    chosen = {name: value for name, value in settings.items() if name not in _NO_CHOICE}
    return {
        "the features": f"{described['model']['name']} {described['model']['fingerprint'][:12]}",
        "the adapter": adapter["content"][:12] if adapter else "none",
        "what is compared": compared,
        "the protocol": protocol,
        **{name.replace("_", " "): str(value) for name, value in chosen.items()},
    }


def _interval(found: Mapping[str, Any]) -> Interval:
    without = found["without"]
    sides = [
        Side(_numbers(without[name]["groups"]), _numbers(without[name]["pairs"]))
        for name in ("reference", "evaluated")
    ]
    both = _numbers(without["both"])
    sizes = [len(side.groups) for side in sides]
    pairs = [size // 2 if size > 3 else 0 for size in sizes]
    if min(sizes) < 3 or len(both) != max(sizes) or [len(side.pairs) for side in sides] != pairs:
        raise ValueError("a score for every group")
    low, high, deviation = -math.inf, math.inf, math.inf  # where a few far clips decide the score
    if all(found[end] is not None and math.isfinite(found[end]) for end in ("low", "high")):
        low, high, deviation = (_finite(found[name]) for name in ("low", "high", "deviation"))
    return Interval(
        score=_finite(found["score"]),
        low=low,
        high=high,
        deviation=deviation,
        freedom=_count(found["freedom"]),
        groups=_count(found["groups"]),
        seed=_count(found["seed"]),
        without=Without(sides[0], sides[1], both),
    )


def _finite(value: Any) -> float:
    """A number of a document."""
    sound = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (sound and abs(value) < _LARGEST):
        raise ValueError(f"a number, but {value!r},")
    return float(value)


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(_finite(value) for value in values)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"a whole number, but {value!r},")
    return value


def _floor(found: Mapping[str, Any] | None) -> FloorRecord | None:
    if found is None:
        return None
    return FloorRecord(*(_finite(found[name]) for name in ("mean", "low", "high", "p_value")))


def _share(verdicts: Mapping[str, Any] | None) -> ShareRecord | None:
    found = verdicts["evaluated"] if verdicts else None
    if found is None:
        return None
    estimate, low, high = (_finite(found["share"][name]) for name in ("estimate", "low", "high"))
    return ShareRecord(estimate, low, high, _count(found["bad"]))


def _clips(clips: list[Mapping[str, Any]], folder: str) -> dict[str, ClipRecord]:
    verdict = {None: None, BAD: True}
    return {
        _name(clip["file"], folder): ClipRecord(
            clip["file"],
            _finite(clip["cost"]),
            verdict.get(clip["verdict"], False),
            None if clip.get("distance") is None else _finite(clip["distance"]),
            str(clip.get("pair") or ""),
        )
        for clip in clips
    }


def _name(file: str, folder: str) -> str:
    """The name of a clip below its folder."""
    path = PurePath(file)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
