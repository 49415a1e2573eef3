"""One pass over the audio of a source with one encoder or more, on any engine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from otadtk.embed.audio_files import AudioFiles
from otadtk.embed.embedding_set import BadClip, EmbeddingSet, describe_bad
from otadtk.embed.lazy import LazyEncoder
from otadtk.embed.options import EmbedOptions, Source
from otadtk.embed.reader import File
from otadtk.embed.store import EmbeddingStore
from otadtk.embed.worker import EmbeddingWork, Record
from otadtk.engine import Engine, Lost
from otadtk.errors import AudioError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FilledStore:
    """How many clips of a source the store now has, and which are bad."""

    clips: int
    encoded: tuple[int, ...]
    """How many clips each encoder computed in this pass; the others were in the store."""
    bad: tuple[BadClip, ...]


@dataclass(frozen=True)
class AudioPass:
    """Embeds audio files by all encoders at once: each file is decoded once per sample rate."""

    encoders: tuple[LazyEncoder, ...]
    store: EmbeddingStore
    engine: Engine
    options: EmbedOptions = field(default_factory=EmbedOptions)

    def embed(self, source: Source) -> list[EmbeddingSet]:
        """One set per encoder, in their order; the clips have the order of their names."""
        files = self._files(source)
        records: dict[int, Record] = {}
        bad: dict[int, str] = {}
        for index, record in self._records(files, keep=True):
            if record.reason is None:
                records[index] = record
            else:
                bad[index] = record.reason
        left_out = self._check(files, bad)
        order = sorted(records)
        paths = tuple(files.as_named(index) for index in order)
        clips = tuple(files.clips[index] for index in order) if files.clips else ()
        good = [records[index] for index in order]
        return [
            replace(self._embedding_set(number, paths, good, left_out), clips=clips)
            for number in range(len(self.encoders))
        ]

    def fill_store(self, source: Source) -> FilledStore:
        """Put the embeddings into the store only: memory does not grow with their number."""
        files = self._files(source)
        encoded = np.zeros(len(self.encoders), dtype=np.int64)
        bad: dict[int, str] = {}
        for index, record in self._records(files, keep=False):
            if record.reason is None:
                encoded += record.encoded
            else:
                bad[index] = record.reason
        left_out = self._check(files, bad)
        return FilledStore(len(files) - len(bad), tuple(encoded.tolist()), left_out)

    def _files(self, source: Source) -> AudioFiles:
        each = any(encoder.spec.reading.channels == "each" for encoder in self.encoders)
        return AudioFiles(source, recursive=self.options.recursive, channels=each)

    def _records(self, files: AudioFiles, *, keep: bool) -> Iterator[tuple[int, Record]]:
        """The record of each file, in the order in which they are done."""
        options = self.options
        work = EmbeddingWork(
            self.encoders, self.store, options.force, options.kind, options.classes, keep
        )
        items: Sequence[File] = files
        results = self.engine.run(
            work.worker, items, title=files.title, unit="clip", prefetch=work.reader.prefetch
        )
        bad = 0
        for index, result in results:
            record = Record(reason=result.reason) if isinstance(result, Lost) else result
            bad += record.reason is not None
            yield index, record
        if self.engine.summary is not None:
            logger.info("%s: %s", files.title, self.engine.summary.describe("clip", bad))

    def _check(self, files: AudioFiles, bad: dict[int, str]) -> tuple[BadClip, ...]:
        """The bad files; an AudioError if they are not to be skipped or all files are bad."""
        left_out = tuple(BadClip(files.as_named(index), bad[index]) for index in sorted(bad))
        if left_out and (self.options.on_error == "fail" or len(left_out) == len(files)):
            raise AudioError(describe_bad(left_out, len(files)))
        return left_out

    def _embedding_set(
        self,
        number: int,
        paths: tuple[Path, ...],
        records: Sequence[Record],
        left_out: tuple[BadClip, ...],
    ) -> EmbeddingSet:
        """The set of the encoder of that number."""
        clips = [record.clips[number] for record in records]
        vectors = [clip.values for clip in clips]
        frames, note = None, ""
        counts: tuple[int, ...] = ()
        if self.options.frames is not None:
            frames = np.concatenate(vectors)
            counts = tuple(len(values) for values in vectors)
            name = self.encoders[number].spec.name
            note = f"{len(frames)} frames of {name}, from {len(clips)} clips"
            vectors = [values.mean(axis=0) for values in vectors]
        class_scores = None
        if self.options.classes:
            class_scores = np.stack([c.class_scores for c in clips if c.class_scores is not None])
        return EmbeddingSet(
            vectors=np.stack(vectors),
            files=paths,
            audits=tuple(clip.audit for clip in clips),
            digests=tuple(record.digest for record in records),
            bad=left_out,
            encoded=sum(record.encoded[number] for record in records),
            frames=frames,
            frame_counts=counts,
            class_scores=class_scores,
            note=note,
        )
