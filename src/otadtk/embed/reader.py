"""Reads one file for the encoders: its entries in the store, or else its decoded segments.

A file comes as a stream of parts. A worker takes them as they are decoded, so a clip of any length
needs bounded memory. Where an engine prefetches, the worker gets the parts of short files at once.
"""

from __future__ import annotations

import errno
import hashlib
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.decode import AudioReader
from otadtk.audio.inputs import Clip, opened
from otadtk.audio.reading import Reading
from otadtk.embed.store import EmbeddingStore, Kind, StoredClip
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError
from otadtk.files.remote import is_remote

PREFETCH_BYTES = 64 << 20
"""Memory for the prefetched files of a batch: 64 clips of 16 s at 16 kHz."""
PREFETCH_BYTES_A_FILE = 8 << 20
"""Longer files, from about 2 minutes at 16 kHz, are not prefetched but streamed."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The first part of a readable file: its hash, and its entry in the store for each encoder."""

    digest: str
    stored: tuple[StoredClip | None, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment for the encoder of that number."""

    number: int
    samples: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ended:
    """The encoder of that number has got all segments."""

    number: int
    audit: ClipAudit


@dataclass(frozen=True, slots=True)
class Bad:
    """The file cannot be scored; no part follows."""

    reason: str
    unreachable: bool = False
    """Whether the cause may be a service that does not answer."""


Part = Opened | Segment | Ended | Bad
File = Path | Clip | tuple[Part, ...]
"""A file or clip to read, or its prefetched parts."""


@dataclass(frozen=True)
class FileReader:
    """Reads files for several encoders; it needs only their specs."""

    specs: tuple[EncoderSpec, ...]
    store: EmbeddingStore
    force: bool
    kind: Kind
    classes: bool = False
    """Whether class scores are needed besides clip vectors."""

    def parts(self, file: File) -> Iterator[Part]:
        """``Opened`` or ``Bad``; then, for each encoder that the store lacks, segments and ``Ended``."""
        return iter(file) if isinstance(file, tuple) else self._read(file)

    def prefetch(self, files: Sequence[File]) -> list[File]:
        """The files as their parts, as far as these fit the memory; the others unchanged."""
        found: list[File] = []
        room = PREFETCH_BYTES
        for file in files:
            parts, size = self._collect(file, min(room, PREFETCH_BYTES_A_FILE))
            found.append(file if parts is None else parts)
            room -= size
        return found

    def _collect(self, file: File, room: int) -> tuple[tuple[Part, ...] | None, int]:
        """(all parts of a file, their bytes), or (None, 0) if they need more than ``room`` bytes."""
        parts: list[Part] = []
        size = 0
        for part in self.parts(file) if room > 0 else ():
            parts.append(part)
            size += _size(part)
            if size > room:
                return None, 0
        return (tuple(parts), size) if parts else (None, 0)

    def _read(self, file: Path | Clip) -> Iterator[Part]:
        clip = file if isinstance(file, Clip) else Clip.of_file(file)
        with ExitStack() as stack:
            try:
                local = stack.enter_context(opened(clip))
                status, digest = _time_and_size(local), clip.excerpt.key(_digest(local))
            except AudioError as error:
                yield Bad(str(error))
                return
            except OSError as error:
                of_the_file = isinstance(error, (FileNotFoundError, PermissionError))
                reason = f"it cannot be read: {error.strerror}"
                yield Bad(reason, unreachable=is_remote(clip.file) and not of_the_file)
                return
            stored = tuple(self._stored(digest, spec) for spec in self.specs)
            yield Opened(digest, stored)
            at_rate: dict[tuple[int, Reading], list[int]] = {}
            for number, spec in enumerate(self.specs):
                if stored[number] is None:
                    at_rate.setdefault((spec.sample_rate, spec.reading), []).append(number)
            try:
                for (rate, reading), numbers in at_rate.items():
                    reader = AudioReader(local, rate, reading, clip.excerpt)
                    yield from self._segments(reader, numbers)
                    if _time_and_size(local) != status:
                        raise AudioError("it changed while it was being read")
                    for number in numbers:
                        yield Ended(number, reader.audit)
            except (AudioError, OSError) as error:
                yield Bad(str(error))

    def _stored(self, digest: str, spec: EncoderSpec) -> StoredClip | None:
        """The entry in the store; ``None`` if it is missing, of another shape, or to be renewed."""
        if self.force:
            return None
        stored = self.store.get(digest, spec.fingerprint, self.kind)
        if stored is None:
            return None
        shape = stored.values.shape
        fits = shape == (spec.dim,) if self.kind == "clip" else shape[1:] == (spec.dim,)
        if not fits or not self.classes:
            return stored if fits else None
        scores = self.store.get(digest, spec.fingerprint, "labels")
        if scores is None or scores.values.shape != (spec.classes,):
            return None
        return replace(stored, class_scores=scores.values)

    def _segments(self, reader: AudioReader, numbers: Sequence[int]) -> Iterator[Segment]:
        """The segments for all encoders of one sample rate, from one pass of decoding."""
        from otadtk.encoders.pooling import Segmenter

        segmenters = {number: Segmenter(self.specs[number]) for number in numbers}
        for block in reader:
            for number, segmenter in segmenters.items():
                for samples in segmenter.feed(block):
                    yield Segment(number, samples)
        for number, segmenter in segmenters.items():
            for samples in segmenter.finish():
                yield Segment(number, samples)


def _size(part: Part) -> int:
    if isinstance(part, Segment):
        return part.samples.nbytes
    if isinstance(part, Opened):
        return sum(clip.values.nbytes for clip in part.stored if clip is not None)
    return 0


def _time_and_size(path: Path) -> tuple[int, int]:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device may have no end
        raise OSError(errno.EINVAL, "it is no regular file")
    return status.st_mtime_ns, status.st_size


def _digest(path: Path) -> str:
    digest, buffer = hashlib.sha256(), memoryview(bytearray(1 << 16))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()
