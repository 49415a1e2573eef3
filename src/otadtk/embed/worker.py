"""The worker that embeds files: read, look up in the store, decode, encode, store.

What the store has is neither decoded nor encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.clip_audit import ClipAudit
from otadtk.embed.lazy import LazyEncoder
from otadtk.embed.reader import Bad, Ended, File, FileReader, Opened, Part
from otadtk.embed.store import EmbeddingStore, Kind, StoredClip
from otadtk.encoders.spec import BATCH_SECONDS
from otadtk.errors import AudioError

if TYPE_CHECKING:
    import torch

    from otadtk.encoders import Encoder, Encoding

_PADDING, _PATIENCE = 0.02, 4
"""Padding that a batch may have, and the minutes at most that are gathered until it has no more."""
_UNREACHABLE_IN_A_ROW = 5
"""Files in a row that a service did not deliver, each after its retries, before a worker stops."""


@dataclass(frozen=True, slots=True)
class Record:
    """The result for one file."""

    digest: str = ""
    clips: tuple[StoredClip, ...] = ()
    """The entry of each encoder; empty if only the store is to be filled."""
    encoded: tuple[bool, ...] = ()
    """Which encoders computed the file; the other entries came from the store."""
    reason: str | None = None
    """Why the file cannot be scored."""


@dataclass(frozen=True)
class EmbeddingWork:
    """Embeds files by one encoder or more; a file is decoded once for each sample rate.

    Each worker encodes with one torch thread: on busy cores, two OpenMP threads that wait for each
    other were 40 times slower than one. It decodes too, unless it gets prefetched files.
    """

    encoders: tuple[LazyEncoder, ...]
    store: EmbeddingStore
    force: bool = False
    kind: Kind = "clip"
    classes: bool = False
    """Whether class scores are stored and kept besides clip vectors."""
    keep: bool = True
    """Whether the records hold the embeddings, and not only the store."""

    @cached_property
    def reader(self) -> FileReader:
        """Reads the files."""
        specs = tuple(encoder.spec for encoder in self.encoders)
        return FileReader(specs, self.store, self.force, self.kind, self.classes)

    def worker(self) -> EmbeddingWork:
        """The worker, for an engine; an encoder is built when the first clip needs it."""
        return self

    def __call__(self, files: Iterator[tuple[int, File]]) -> Iterator[tuple[int, Record]]:
        """The record of each file, some time after it was taken."""
        return _WorkerLoop(self).records(files)


@dataclass(eq=False)
class _OpenFile:
    """A file in progress, with its entries so far."""

    index: int
    digest: str
    clips: list[StoredClip | None]
    encoded: list[bool]
    bad: bool = False
    """Whether an encoder refused it; its other segments are then ignored."""


@dataclass(eq=False)
class _OpenClip:
    """A file in progress through the encoder of that number."""

    file: _OpenFile
    number: int
    encodings: list[Encoding] = field(default_factory=list)
    segments: int = 0
    audit: ClipAudit | None = None
    """Known when the last segment has come."""


class _WorkerLoop:
    """One thread's loop over files; a batch may hold segments of several files."""

    def __init__(self, work: EmbeddingWork) -> None:
        self._work = work
        self._pending: list[list[tuple[_OpenClip, torch.Tensor]]] = [[] for _ in work.encoders]
        self._finished: list[tuple[int, Record]] = []
        self._unreachable = 0

    def records(self, files: Iterator[tuple[int, File]]) -> Iterator[tuple[int, Record]]:
        """The record of each file, when the last of its clips is stored."""
        for index, file in files:
            self._embed(index, self._work.reader.parts(file))
            yield from self._take_finished()
        for number in range(len(self._pending)):
            self._encode(number)
        yield from self._take_finished()

    def _take_finished(self) -> list[tuple[int, Record]]:
        finished, self._finished = self._finished, []
        return finished

    def _embed(self, index: int, parts: Iterable[Part]) -> None:
        """Take a file from the store, or through the encoders whose entries it lacks."""
        clips: list[_OpenClip] = []
        for part in parts:
            if isinstance(part, Opened):
                count = len(part.stored)
                file = _OpenFile(index, part.digest, list(part.stored), [False] * count)
                clips = [_OpenClip(file, number) for number in range(count)]
                self._unreachable = 0
                self._finish_if_complete(file)
            elif clips and clips[0].file.bad:
                return  # an encoder refused an earlier segment
            elif isinstance(part, Bad):
                self._leave_out(index, part)
            elif isinstance(part, Ended):
                clips[part.number].audit = part.audit
                self._store_if_complete(clips[part.number])
            else:
                self._add(clips[part.number], part.samples)

    def _leave_out(self, index: int, bad: Bad) -> None:
        """Record a bad file; stop when a service fails again and again."""
        self._unreachable = self._unreachable + 1 if bad.unreachable else 0
        if self._unreachable >= _UNREACHABLE_IN_A_ROW:
            raise AudioError(
                f"{self._unreachable} files in a row could not be fetched, the last one because "
                f"{bad.reason}. What is embedded is kept: start again when the service answers."
            )
        self._finished.append((index, Record(reason=bad.reason)))

    def _add(self, clip: _OpenClip, samples: NDArray[np.float32]) -> None:
        """Add a segment to the batch of its encoder, and run a full batch."""
        import torch

        # prefetched samples lie in memory that several processes share: copy before writing
        owned = np.require(samples, requirements=["C", "W"])
        clip.segments += 1
        batch = self._pending[clip.number]
        batch.append((clip, torch.from_numpy(owned)))
        if self._is_full(clip.number):
            self._encode(clip.number)

    def _is_full(self, number: int) -> bool:
        """Whether a minute has come together, and the network's own batches are full, or soon."""
        lengths = [len(segment) for _, segment in self._pending[number]]
        seconds = sum(lengths) / self._work.encoders[number].spec.sample_rate
        if seconds < BATCH_SECONDS:
            return False
        if seconds >= _PATIENCE * BATCH_SECONDS:
            return True
        return self._work.encoders[number].get().padding(lengths) <= _PADDING

    def _encode(self, number: int) -> None:
        """Run an encoder over its batch."""
        import torch

        batch, self._pending[number] = self._pending[number], []
        if not batch:
            return
        encoder = self._work.encoders[number].get()
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)  # of this worker's thread
        for clip, encoding in self._encodings(encoder, batch):
            clip.encodings.append(encoding)
        for clip in dict.fromkeys(clip for clip, _ in batch):
            self._store_if_complete(clip)

    def _encodings(
        self, encoder: Encoder, batch: Sequence[tuple[_OpenClip, torch.Tensor]]
    ) -> list[tuple[_OpenClip, Encoding]]:
        """The encodings of a batch, without the clips that a custom encoder refuses."""
        try:
            found = encoder.encode_segments([segment for _, segment in batch])
        except AudioError as error:
            if len(batch) > 1:  # find the clip
                return [pair for one in batch for pair in self._encodings(encoder, [one])]
            file = batch[0][0].file
            if not file.bad:
                file.bad = True
                self._finished.append((file.index, Record(reason=str(error))))
            return []
        return [(clip, encoding) for (clip, _), encoding in zip(batch, found, strict=True)]

    def _store_if_complete(self, clip: _OpenClip) -> None:
        """Pool and store a clip that was read to its end and whose segments are all encoded."""
        file, number = clip.file, clip.number
        if (
            file.bad
            or clip.audit is None
            or len(clip.encodings) < clip.segments
            or file.encoded[number]
        ):
            return
        encoder = self._work.encoders[number]
        if self._work.kind == "clip":
            values = encoder.get().pool(clip.encodings).numpy()
        else:
            values = _weighted_frames(clip.encodings)
        stored = StoredClip(values, clip.audit)
        key = file.digest, encoder.spec.fingerprint
        self._work.store.put(*key, stored, self._work.kind)
        if self._work.classes:
            scores = encoder.get().pool_classes(clip.encodings).numpy()
            self._work.store.put(*key, StoredClip(scores, clip.audit), "labels")
            stored = StoredClip(values, clip.audit, scores)
        file.encoded[number] = True
        file.clips[number] = stored
        self._finish_if_complete(file)

    def _finish_if_complete(self, file: _OpenFile) -> None:
        clips = tuple(clip for clip in file.clips if clip is not None)
        if len(clips) == len(file.clips):
            kept = clips if self._work.keep else ()
            self._finished.append((file.index, Record(file.digest, kept, tuple(file.encoded))))


def _weighted_frames(encodings: Sequence[Encoding]) -> NDArray[np.float32]:
    """The frames of a clip that have weight; all of them if none has."""
    from otadtk.encoders.pooling import join

    clip = join(encodings)
    counts = clip.weights.cpu() > 0
    frames = clip.frames.cpu()
    kept: NDArray[np.float32] = (frames[counts] if bool(counts.any()) else frames).numpy()
    return kept
