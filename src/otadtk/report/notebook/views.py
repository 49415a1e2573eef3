"""The HTML that a notebook shows of a score, an evaluation, diagnostics or a comparison."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from otadtk.audio.reading import Reading
from otadtk.embed import EmbeddingSet
from otadtk.errors import AudioError, OtadtkError
from otadtk.evaluation.compare import Comparison
from otadtk.evaluation.evaluate import Evaluation
from otadtk.files.names import shown_names
from otadtk.files.printable import readable
from otadtk.metrics.diagnostics import OTADDiagnostics
from otadtk.metrics.shown import Score
from otadtk.metrics.verdicts import BAD
from otadtk.report.clips.sound import encode_vorbis, read_sound
from otadtk.report.clips.table import relative_costs
from otadtk.report.template import Scale, read_asset, render

SHOWN = 10
"""Clips of largest cost in a table."""
PLAYED_SECONDS = 10.0
"""Longer clips are cut here: every sound becomes a part of the notebook's file."""
SOUND_BUDGET = 3_000_000
"""Characters of sound in one table; later clips have no player."""


@dataclass(frozen=True)
class ShownClip:
    """A row of the table of clips."""

    rank: int
    name: str
    sound: str
    """As an address with the sound inside, or empty."""
    cost: float
    relative: float
    marks: tuple[str, ...]
    """The verdict, if it is bad, and what the audit found."""
    q: float | None
    nearest: str
    nearest_sound: str
    share: float


def notebook_html(result: object) -> str:
    """The HTML of a result."""
    if isinstance(result, Score):
        return _render("score.html", score=result)
    if isinstance(result, OTADDiagnostics):
        return _render("diagnostics.html", diagnostics=result, **_clips(result))
    if isinstance(result, Evaluation):
        found = result.measurement.diagnostics
        clips = _clips(found) if found is not None else {"clips": []}
        return _render("evaluation.html", evaluation=result, rows=_statistics(result), **clips)
    if isinstance(result, Comparison):
        ends = [0.0]
        for system in result.systems:
            ends.append(system.score)
            ends += [system.interval.low, system.interval.high] if system.interval.holds else []
        return _render("comparison.html", comparison=result, scale=Scale.around(ends, 160))
    raise OtadtkError(f"There is no view of {type(result).__name__}.")


def _render(template: str, **values: Any) -> str:
    sort = " ".join(read_asset("notebook/sort.js").split())
    return render(f"notebook/{template}", **values, sort=sort)


def _statistics(evaluation: Evaluation) -> list[tuple[str, str]]:
    """(what, value) of every line of details, and further numbers of the metric."""
    values = [(name, f"{value:.6f}") for name, value in evaluation.measurement.values.items()]
    lines = [line.partition(": ") for line in evaluation.details()]
    return values + [(what, text) if text else ("", what) for what, _, text in lines]


def _clips(diagnostics: OTADDiagnostics) -> dict[str, Any]:
    """The rows of the table of the worst clips, and what their costs are relative to."""
    relative, typical = relative_costs(diagnostics.cj)
    order = np.argsort(-diagnostics.cj, kind="stable")[:SHOWN].tolist()
    judged = diagnostics.judgement.evaluated if diagnostics.judgement is not None else None
    evidence = diagnostics.evidence
    sounds = _Sounds(SOUND_BUDGET, evidence.encoder.spec.reading if evidence is not None else None)
    names = shown_names(diagnostics.files, "evaluated")
    references = shown_names(diagnostics.reference_files, "reference")
    shares_of = diagnostics.transport.shares if diagnostics.transport is not None else None
    rows = []
    for rank, j in enumerate(order, 1):
        bad = judged is not None and bool(judged.bad[j])
        row = ShownClip(
            rank=rank,
            name=readable(names[j]),
            sound=sounds.of(evidence.evaluated, j) if evidence is not None else "",
            cost=float(diagnostics.cost[j]),
            relative=float(relative[j]),
            marks=(*([BAD] if bad else []), *(diagnostics.flags[j] if diagnostics.flags else ())),
            q=None if judged is None else float(judged.q[j]),
            nearest="",
            nearest_sound="",
            share=0.0,
        )
        if shares_of is not None and diagnostics.reference_files:
            shares = shares_of(j)
            i = int(np.argmax(shares))
            heard = sounds.of(evidence.reference, i) if evidence is not None else ""
            row = replace(
                row, nearest=readable(references[i]), nearest_sound=heard, share=float(shares[i])
            )
        rows.append(row)
    return {
        "clips": rows,
        "typical": typical,
        "total": len(diagnostics.files),
        "players": any(row.sound for row in rows),
        "marked": any(row.marks for row in rows),
    }


class _Sounds:
    """Sounds as addresses with the sound inside, until the budget is spent."""

    def __init__(self, budget: int, reading: Reading | None) -> None:
        self._left, self._reading = budget, reading

    def of(self, clips: EmbeddingSet, index: int) -> str:
        """The sound of a clip; empty without audio, or if nothing is left."""
        audit = clips.audits[index]
        if audit is None or self._left <= 0:
            return ""
        try:
            sound = read_sound(clips.clip(index), audit.sample_rate, self._reading)
        except (AudioError, OSError):  # the file was deleted or changed
            return ""
        most = int(PLAYED_SECONDS * sound.sample_rate)
        short = replace(sound, samples=sound.samples[:most])
        address = "data:audio/ogg;base64," + base64.b64encode(encode_vorbis(short)).decode("ascii")
        self._left -= len(address)
        return address
