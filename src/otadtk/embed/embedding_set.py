"""The embeddings of a set of clips, with the file, the audit and the hash of each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.inputs import Clip
from otadtk.distances.moments import Moments
from otadtk.files.printable import readable
from otadtk.files.remote import url_of


@dataclass(frozen=True)
class BadClip:
    """A file that cannot be scored, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, repr=False)
class EmbeddingSet:
    """The vectors ``(n, d)`` of a set of clips, with the file, audit and hash of each.

    An audit is ``None`` where only the embedding is known, not the audio. ``bad`` lists the files
    that were left out.
    """

    vectors: NDArray[np.float32]
    files: tuple[Path, ...]
    audits: tuple[ClipAudit | None, ...]
    digests: tuple[str, ...]
    bad: tuple[BadClip, ...]
    encoded: int
    """How many clips were computed now; the others came from the store."""
    frames: NDArray[np.floating] | None = None
    """The frames of all clips, where these are compared and not the clip vectors."""
    frame_counts: tuple[int, ...] = ()
    """How many of the frames belong to each clip."""
    class_scores: NDArray[np.float32] | None = None
    """The logits ``(n, classes)`` of every clip, where they were asked for."""
    note: str = ""
    """Where the set comes from, if not from audio by clip vectors."""
    moments: Moments | None = None
    """The mean and the covariance, where nothing else is known: there are no clips and no frames."""

    clips: tuple[Clip, ...] = ()
    """Where the bytes of each clip are and what is known of it; empty where the files are that."""

    def clip(self, index: int) -> Clip:
        """A clip: where its bytes are, and which part of them is heard."""
        return self.clips[index] if self.clips else Clip.of_file(self.files[index])

    def column(self, name: str) -> tuple[str, ...]:
        """What a manifest says of every clip in that column; empty if it says nothing of any."""
        values = tuple(clip.columns.get(name, "") for clip in self.clips)
        return values if any(values) else ()

    def take(self, places: Sequence[int]) -> EmbeddingSet:
        """The set of the clips at these places, in this order."""
        frames, counts = self.frames, self.frame_counts
        if frames is not None and counts:
            several = self.frames_by_clip()
            frames = np.concatenate([several[i] for i in places])
            counts = tuple(counts[i] for i in places)
        return replace(
            self,
            vectors=self.vectors[list(places)],
            files=tuple(self.files[i] for i in places),
            audits=tuple(self.audits[i] for i in places),
            digests=tuple(self.digests[i] for i in places),
            frames=frames,
            frame_counts=counts,
            class_scores=None if self.class_scores is None else self.class_scores[list(places)],
            clips=tuple(self.clips[i] for i in places) if self.clips else (),
        )

    def __repr__(self) -> str:
        points = "x".join(map(str, np.shape(self.points)))
        first = f", first={str(self.files[0])!r}" if self.files else ""
        bad = f", {len(self.bad)} left out" if self.bad else ""
        return f"EmbeddingSet({len(self.files)} clips, {points} numbers{first}{bad})"

    @property
    def moments_only(self) -> bool:
        """Whether only the mean and the covariance are known."""
        return self.moments is not None

    @property
    def points(self) -> NDArray[np.floating]:
        """What a metric compares: the clip vectors, or the frames."""
        return self.vectors if self.frames is None else self.frames

    @property
    def content(self) -> str:
        """A SHA-256 of the clips in their order, or of the moments where there are no clips."""
        whole = hashlib.sha256("\n".join(self.digests).encode())
        if self.moments is not None:
            spread = self.moments.covariance, self.moments.factor
            for part in (self.moments.mean, *spread):
                whole.update(b"" if part is None else np.ascontiguousarray(part).data)
        return whole.hexdigest()

    def frames_by_clip(self) -> list[NDArray[np.floating]]:
        """The frames of each clip, where the set has frames."""
        assert self.frames is not None, "the set has no frames"
        return np.split(self.frames, np.cumsum(self.frame_counts)[:-1])

    def flags(self, minimum_seconds: float) -> list[tuple[str, ...]]:
        """What is odd about each clip; below ``minimum_seconds`` a clip counts as short."""
        return [audit.flags(minimum_seconds) if audit else () for audit in self.audits]


def describe_bad(bad: Sequence[BadClip], total: int) -> str:
    """A message that names every bad file and its reason, a line for each."""
    what = f"{len(bad)} of {total} files cannot be scored (--on-error skip leaves them out):"
    reasons = [readable(f"{url_of(clip.path)}: {clip.reason}") for clip in bad]
    return f"{what} {reasons[0]}" if len(bad) == 1 else "\n  ".join([what, *reasons])
