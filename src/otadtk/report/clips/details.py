"""The clips that a report shows in full: picture, sound, labels, cost along time."""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.embed import EmbeddingSet
from otadtk.errors import AudioError
from otadtk.metrics.diagnostics import Evidence
from otadtk.report.clips.frames import ClipFile, Labeller, as_clips, cost_along_time, frames_of
from otadtk.report.clips.sound import Sketch, as_text, encode_vorbis, read_sound, sketch
from otadtk.report.clips.table import OTHERS_SHOWN, ClipTable, best_of
from otadtk.report.threads import in_threads

logger = logging.getLogger(__name__)

AUDIO_BUDGET = 16_000_000
"""Bytes of sound inside a page; further clips are linked."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """A clip to describe: its key on the page, its set and its index there.

    ``shares`` are the shares of its mass by reference clip; without them it has no cost strip.
    """

    key: str
    embedded: EmbeddingSet
    index: int
    shares: NDArray[np.float64] | None = None

    @property
    def file(self) -> ClipFile:
        """Its audio and its hash."""
        return ClipFile(self.embedded.clip(self.index), self.embedded.digests[self.index])


@dataclass(frozen=True, eq=False)
class ClipDetails:
    """What a page shows of a clip beside its numbers."""

    sketch: Sketch
    labels: tuple[tuple[str, float], ...]
    strip: tuple[float | None, ...]
    """Cost along time, one per frame; ``None`` for silent frames. Empty without frames."""
    step: float
    """Seconds between two frames."""
    sound: str
    """Ogg Vorbis in base64, or empty."""

    def to_dict(self) -> dict[str, Any]:
        """All but the sound, for the page's script."""
        return {
            "seconds": round(self.sketch.seconds, 3),
            "whole": self.sketch.whole,
            "loudness": None if self.sketch.loudness is None else round(self.sketch.loudness, 1),
            "wave": as_text(self.sketch.wave),
            "mel": as_text(self.sketch.mel),
            "labels": [[name, round(score, 2)] for name, score in self.labels],
            "strip": [None if cost is None else float(f"{cost:.4g}") for cost in self.strip],
            "step": self.step,
            "sound": bool(self.sound),
        }


def describe_table(table: ClipTable, evidence: Evidence, *, sounds: bool) -> dict[str, ClipDetails]:
    """Details of the clips that a report shows in full, by key: e12 (evaluated) or r7 (reference)."""
    wanted: list[Wanted] = []
    for j in [*table.worst, *best_of(table.order).tolist()]:
        wanted.append(Wanted(f"e{j}", evidence.evaluated, j, table.shares.get(j)))
        wanted += [Wanted(f"r{i}", evidence.reference, i) for i, _ in table.nearest.get(j, [])[:1]]
    unreached = table.unreached[:OTHERS_SHOWN].tolist()
    wanted += [Wanted(f"r{i}", evidence.reference, i) for i in unreached]
    unique = list({clip.key: clip for clip in reversed(wanted)}.values())[::-1]
    return describe_clips(unique, evidence, table.reference.points, sounds=sounds)


def describe_clips(
    wanted: Sequence[Wanted],
    evidence: Evidence,
    reference: NDArray[np.float32],
    *,
    sounds: bool,
) -> dict[str, ClipDetails]:
    """Details by key, of the clips whose audio can be read; with ``sounds``, their audio too.

    ``reference`` are the reference vectors in the space of the metric.
    """
    labeller = Labeller(evidence.encoder, evidence.store)
    labelled = labeller.available
    if not labelled:
        logger.info("no AudioSet labels: `otadtk-list-models --fetch yamnet` fetches their network")

    def describe(clip: Wanted) -> ClipDetails | None:
        file, audit = clip.file, clip.embedded.audits[clip.index]
        if audit is None:  # embeddings without audio
            return None
        try:
            sound = read_sound(file.clip, audit.sample_rate, evidence.encoder.spec.reading)
            drawn = sketch(sound)
            labels = labeller.labels(file) if labelled else []
            strip = _strip(clip, drawn, evidence, reference)
        except (AudioError, OSError):  # the file was deleted or changed
            return None
        vorbis = base64.b64encode(encode_vorbis(sound)).decode("ascii") if sounds else ""
        step = evidence.encoder.spec.frame_seconds or 0.0
        return ClipDetails(drawn, tuple(labels), strip, step, vorbis)

    found: dict[str, ClipDetails] = {}
    spent = 0
    for clip, details in zip(wanted, in_threads(describe, wanted), strict=True):
        if details is None:
            continue
        spent += len(details.sound)
        if spent > AUDIO_BUDGET:
            details = replace(details, sound="")
        found[clip.key] = details
    return found


def _strip(
    clip: Wanted, drawn: Sketch, evidence: Evidence, reference: NDArray[np.float32]
) -> tuple[float | None, ...]:
    step = evidence.encoder.spec.frame_seconds
    if clip.shares is None or step is None:
        return ()
    frames = frames_of(clip.file, evidence.encoder, evidence.store)
    points = as_clips(frames, evidence.encoder, evidence.ground)
    costs = cost_along_time(points, reference, clip.shares)
    heard = ~_silent(drawn, len(costs), step)
    return tuple(float(c) if h else None for c, h in zip(costs, heard, strict=True))


def _silent(drawn: Sketch, count: int, step: float) -> NDArray[np.bool_]:
    """Which frames are silent; none if all of them are."""
    columns = len(drawn.silent)
    edges = np.arange(count + 1) * step / max(drawn.seconds, 1e-9) * columns
    quiet = np.array(
        [drawn.silent[int(a) : max(int(a) + 1, int(np.ceil(b)))].all() for a, b in pairwise(edges)]
    )
    return quiet & ~quiet.all()
