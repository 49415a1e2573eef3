"""Writes the page of a training: the score against the step, every change, clips that got worse."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from otadtk.audio.inputs import Clip
from otadtk.audio.reading import Reading
from otadtk.errors import AudioError
from otadtk.files.printable import readable
from otadtk.report.clips.details import AUDIO_BUDGET, ClipDetails
from otadtk.report.clips.sound import encode_vorbis, read_sound, sketch
from otadtk.report.comparison_page import CLIPS_SHOWN, SCRIPTS
from otadtk.report.template import PageOptions, Scale, number, render_template, write_page
from otadtk.report.threads import in_threads
from otadtk.tracking.trend import ClipChange, Step, Trend

SAMPLE_RATE = 32_000
"""Of the sounds inside the page."""


@dataclass(frozen=True)
class Chart:
    """The axes of the score against the step, of one size."""

    name: str
    width: int
    height: int
    across: Scale
    up: Scale
    most: int
    """Labels along the axis of steps."""

    left = 58
    bottom = 30

    def x(self, step: Step) -> float:
        """The position of a step."""
        return self.left + self.across.at(step.number)

    def y(self, score: float) -> float:
        """The position of a score."""
        return round(self.height - self.bottom - self.up.at(score), 2)

    def shown(self, steps: Sequence[Step]) -> list[Step]:
        """The steps that have a label: the last one, and others as there is room."""
        every = -(-len(steps) // self.most)
        return list(steps[::-1][::every])


def write_trend_page(
    trend: Trend,
    path: Path,
    *,
    command: str | None = None,
    reading: Reading | None = None,
    clips: Mapping[str, Clip] | None = None,
) -> Path:
    """Write the page, with the sounds of the clips that got worse inside; gives its path.

    ``reading`` is what the encoder hears of each. ``clips`` are those that are no files of their own,
    by their names.
    """
    worse = trend.got_worse()[:CLIPS_SHOWN]
    change = trend.compared
    details = _details(worse, reading, clips or {})
    names = [readable(step.name) for step in (change.before, change.after)] if change else []
    text = render_template(
        "trend.html",
        SCRIPTS,
        PageOptions(command=command),
        {**_data(trend, worse, names, details), "audio": {"mode": "embed"}},
        title=f"{trend.last.record.metric} over {len(trend.steps)} steps",
        trend=trend,
        changes={change.after.name: change for change in trend.changes},
        charts=[_chart(trend, "broad", 1080, 330, 12), _chart(trend, "slim", 360, 260, 5)],
        systems=names,
        different=len(worse),
        compared=change is not None
        and bool(set(change.before.record.by_clip) & set(change.after.record.by_clip)),
        sounds={key: found.sound for key, found in details.items() if found.sound},
    )
    return write_page(text, path)


def _chart(trend: Trend, name: str, width: int, height: int, most: int) -> Chart:
    scores: list[float] = []
    for step in trend.steps:
        record = step.record
        scores.append(record.score)
        scores += [record.interval.low, record.interval.high] if record.interval.holds else []
        scores += [record.floor.low, record.floor.high] if record.floor is not None else []
    across = Scale.around([s.number for s in trend.steps], width - Chart.left - 14, 0.04)
    up = Scale.around(scores, height - Chart.bottom - 22)
    return Chart(name, width, height, across, up, most)


def _data(
    trend: Trend, worse: Sequence[ClipChange], names: Sequence[str], details: dict[str, ClipDetails]
) -> dict[str, Any]:
    """What the page's script reads: two steps as systems, and the clips of both."""
    change = trend.compared
    typical = 1.0
    if change is not None:
        ends = (change.before.record.by_clip, change.after.record.by_clip)
        costs = [clip.cost for end in ends for clip in end.values()]
        typical = float(np.median(costs)) or 1.0 if costs else 1.0
    return {
        "systems": [
            {
                "name": name,
                "folder": None,
                "names": {str(j): clip.name for j, clip in enumerate(worse)},
                "links": {},
            }
            for name in names
        ],
        "clips": [
            {
                "name": readable(clip.name),
                "indices": [j, j],
                "costs": [number(end.cost / typical) for end in (clip.before, clip.after)],
                "difference": number(clip.rise / typical),
                "bad": [bool(end.bad) for end in (clip.before, clip.after)],
            }
            for j, clip in enumerate(worse)
        ],
        "details": {key: found.to_dict() for key, found in details.items()},
    }


def _details(
    worse: Sequence[ClipChange], reading: Reading | None, clips: Mapping[str, Clip]
) -> dict[str, ClipDetails]:
    """Picture and sound of the clips whose audio can be read, by key."""
    wanted = [
        (f"{k}-{j}", clips.get(end.file) or Clip.of_file(Path(end.file)))
        for j, clip in enumerate(worse)
        for k, end in enumerate((clip.before, clip.after))
    ]

    def describe(clip: tuple[str, Clip]) -> ClipDetails | None:
        try:
            sound = read_sound(clip[1], SAMPLE_RATE, reading)
        except (AudioError, OSError):  # embeddings without audio, or a file that is gone
            return None
        vorbis = base64.b64encode(encode_vorbis(sound)).decode("ascii")
        return ClipDetails(sketch(sound), (), (), 0.0, vorbis)

    found: dict[str, ClipDetails] = {}
    spent = 0
    for (key, _), details in zip(wanted, in_threads(describe, wanted), strict=True):
        if details is None:
            continue
        spent += len(details.sound)
        if spent > AUDIO_BUDGET:
            break
        found[key] = details
    return found
