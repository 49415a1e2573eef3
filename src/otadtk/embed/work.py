"""What is done with every file: read, look up, decode, encode, store. Engines say where.

What the store knows is neither decoded nor encoded.
"""

from __future__ import annotations

import errno
import hashlib
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from otadtk.audio import AudioReader
from otadtk.embed.lazy import LazyEncoder
from otadtk.errors import AudioError
from otadtk.places import fetched
from otadtk.store import EmbeddingStore, Kind, StoredClip

if TYPE_CHECKING:
    import torch

    from otadtk.encoders import EncoderSpec, Encoding
    from otadtk.encoders.pooling import Segmenter

BATCH_SECONDS = 60.0
"""How much audio a worker collects before it calls the network."""


@dataclass(frozen=True, slots=True)
class Record:
    """What became of one file."""

    digest: str = ""
    clips: tuple[StoredClip, ...] = ()
    """By each encoder, if they were asked for."""
    encoded: tuple[bool, ...] = ()
    """Which encoders the file went through; the others' embeddings came from the store."""
    reason: str | None = None
    """Why the file cannot be scored."""


@dataclass(frozen=True)
class EmbeddingWork:
    """Embeds files by one encoder or more, decoded once for each sample rate.

    Each worker decodes and encodes for itself with one torch thread: two OpenMP threads that wait
    for each other on busy cores were seen 40 times slower than one.
    """

    encoders: tuple[LazyEncoder, ...]
    store: EmbeddingStore
    force: bool = False
    kind: Kind = "clip"
    keep: bool = True
    """Whether the records hold the embeddings, or leave them to the store."""

    def worker(self) -> EmbeddingWork:
        """Itself: an encoder is built when the first clip needs it."""
        return self

    def __call__(self, files: Iterator[tuple[int, Path]]) -> Iterator[tuple[int, Record]]:
        """The record of each file, some time after it was taken."""
        return _Pass(self).records(files)


@dataclass(eq=False)
class _OpenFile:
    """A file on its way, with what is known of it so far."""

    index: int
    digest: str
    clips: list[StoredClip | None]
    encoded: list[bool]


@dataclass(eq=False)
class _OpenClip:
    """A file on its way through one network, the one with that number."""

    file: _OpenFile
    number: int
    reader: AudioReader
    segmenter: Segmenter
    encodings: list[Encoding] = field(default_factory=list)
    segments: int = 0
    read_to_end: bool = False


class _Pass:
    """One worker's pass over files; segments of several files share a batch."""

    def __init__(self, work: EmbeddingWork) -> None:
        self._work = work
        self._pending: list[list[tuple[_OpenClip, torch.Tensor]]] = [[] for _ in work.encoders]
        self._finished: list[tuple[int, Record]] = []

    def records(self, files: Iterator[tuple[int, Path]]) -> Iterator[tuple[int, Record]]:
        """The record of each file, when the last of its clips is stored."""
        for index, path in files:
            with ExitStack() as stack:
                try:
                    local = stack.enter_context(fetched(path))
                    status, digest = _time_and_size(local), _digest(local)
                except OSError as error:
                    self._fail(index, f"it cannot be read: {error.strerror}")
                else:
                    self._embed(index, local, status, digest)
            yield from self._take_finished()
        for number in range(len(self._pending)):
            self._encode(number)
        yield from self._take_finished()

    def _take_finished(self) -> list[tuple[int, Record]]:
        finished, self._finished = self._finished, []
        return finished

    def _embed(self, index: int, path: Path, status: tuple[int, int], digest: str) -> None:
        """Take a file from the store, or through the networks that the store lacks."""
        count = len(self._work.encoders)
        file = _OpenFile(index, digest, [None] * count, [False] * count)
        for clips in self._missing_clips(file, path):
            for clip, segment in self._segments(path, status, clips):
                clip.segments += 1
                batch = self._pending[clip.number]
                batch.append((clip, segment))
                rate = self._work.encoders[clip.number].spec.sample_rate
                if sum(len(s) for _, s in batch) >= BATCH_SECONDS * rate:
                    self._encode(clip.number)
            if not clips[0].read_to_end:
                break  # the file is bad at any rate
            for clip in clips:
                self._store_if_complete(clip)

    def _missing_clips(self, file: _OpenFile, path: Path) -> list[list[_OpenClip]]:
        """For each rate a clip per encoder that the store has nothing of."""
        from otadtk.encoders.pooling import Segmenter

        missing = [
            number
            for number, encoder in enumerate(self._work.encoders)
            if not self._take_stored(file, number, encoder.spec)
        ]
        at_rate: dict[int, list[_OpenClip]] = {}
        for number in missing:
            spec = self._work.encoders[number].spec
            clips = at_rate.setdefault(spec.sample_rate, [])
            reader = clips[0].reader if clips else AudioReader(path, spec.sample_rate)
            clips.append(_OpenClip(file, number, reader, Segmenter(spec)))
        return list(at_rate.values())

    def _take_stored(self, file: _OpenFile, number: int, spec: EncoderSpec) -> bool:
        """Whether the store has a sound entry; the file then has it too."""
        if self._work.force:
            return False
        stored = self._work.store.get(file.digest, spec.fingerprint, self._work.kind)
        if stored is None:
            return False
        shape = stored.values.shape
        sound = shape == (spec.dim,) if self._work.kind == "clip" else shape[1:] == (spec.dim,)
        if sound:
            self._finish(file, number, stored)
        return sound

    def _segments(
        self, path: Path, status: tuple[int, int], clips: Sequence[_OpenClip]
    ) -> Iterator[tuple[_OpenClip, torch.Tensor]]:
        """The segments of a file for each encoder; one that is bad gives its reason instead."""
        import torch

        try:
            for block in clips[0].reader:
                for clip in clips:
                    for samples in clip.segmenter.feed(block):
                        yield clip, torch.from_numpy(np.ascontiguousarray(samples))
            for clip in clips:
                for samples in clip.segmenter.finish():
                    yield clip, torch.from_numpy(np.ascontiguousarray(samples))
            if _time_and_size(path) != status:
                raise AudioError("it changed while it was being read")
            for clip in clips:
                clip.read_to_end = True
        except (AudioError, OSError) as error:
            self._fail(clips[0].file.index, str(error))

    def _encode(self, number: int) -> None:
        """Run a network over the segments that wait for it."""
        import torch

        batch, self._pending[number] = self._pending[number], []
        if not batch:
            return
        encoder = self._work.encoders[number].get()
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)  # of this worker's thread
        encodings = encoder.encode_segments([segment for _, segment in batch])
        for (clip, _), encoding in zip(batch, encodings, strict=True):
            clip.encodings.append(encoding)
        for clip in dict.fromkeys(clip for clip, _ in batch):
            self._store_if_complete(clip)

    def _store_if_complete(self, clip: _OpenClip) -> None:
        """Pool and store a clip that was read to its end and whose segments are all encoded."""
        file, number = clip.file, clip.number
        if not clip.read_to_end or len(clip.encodings) < clip.segments or file.encoded[number]:
            return
        encoder = self._work.encoders[number]
        if self._work.kind == "clip":
            values = encoder.get().pool(clip.encodings).numpy()
        else:
            values = _counting_frames(clip.encodings)
        stored = StoredClip(values, clip.reader.audit)
        self._work.store.put(file.digest, encoder.spec.fingerprint, stored, self._work.kind)
        file.encoded[number] = True
        self._finish(file, number, stored)

    def _finish(self, file: _OpenFile, number: int, stored: StoredClip) -> None:
        file.clips[number] = stored
        clips = tuple(clip for clip in file.clips if clip is not None)
        if len(clips) == len(file.clips):
            kept = clips if self._work.keep else ()
            self._finished.append((file.index, Record(file.digest, kept, tuple(file.encoded))))

    def _fail(self, index: int, reason: str) -> None:
        self._finished.append((index, Record(reason=reason)))


def _counting_frames(encodings: Sequence[Encoding]) -> NDArray[np.float32]:
    """The frames of a clip without those that do not count, unless none does."""
    from otadtk.encoders.pooling import join

    clip = join(encodings)
    counts = clip.weights.cpu() > 0
    frames = clip.frames.cpu()
    kept: NDArray[np.float32] = (frames[counts] if bool(counts.any()) else frames).numpy()
    return kept


def _time_and_size(path: Path) -> tuple[int, int]:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device may have no end
        raise OSError(errno.EINVAL, "it is no regular file")
    return status.st_mtime_ns, status.st_size


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
