"""Embeds audio files: described once in ``work``, executed by any engine, gathered here."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

import numpy as np

from otadtk.audio import list_audio
from otadtk.embed.lazy import LazyEncoder
from otadtk.embed.sets import BadClip, EmbeddingSet, report
from otadtk.embed.work import EmbeddingWork, Record
from otadtk.engine import Engine, LocalEngine, Lost
from otadtk.errors import AudioError
from otadtk.places import absolute, place_of, url_of
from otadtk.store import EmbeddingStore, Kind, StoredClip

__all__ = ["BadClip", "EmbeddingSet", "FilledStore", "LazyEncoder", "OnError"]
__all__ += ["embed", "embed_all", "fill_store"]

logger = logging.getLogger(__name__)

OnError = Literal["fail", "skip"]
Place = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class FilledStore:
    """How many clips of a place the store now has, and what is wrong with the others."""

    clips: int
    encoded: tuple[int, ...]
    """How many went through each network now; the others were in the store."""
    bad: tuple[BadClip, ...]


def embed(
    place: Place,
    encoder: LazyEncoder,
    store: EmbeddingStore,
    *,
    recursive: bool = True,
    workers: int | None = None,
    engine: Engine | None = None,
    force: bool = False,
    on_error: OnError = "fail",
    kind: Kind = "clip",
) -> EmbeddingSet:
    """The clip vectors of a folder, a file or a list of files, in a stable order.

    With ``kind="frames"`` the set has their frames too, and vectors are the means of these.
    With ``on_error="fail"`` every file is tried, then all that failed are reported at once.
    ``engine`` says where (default: on ``workers`` threads of this process).
    """
    (embedded,) = embed_all(
        *(place, [encoder], store),
        recursive=recursive,
        workers=workers,
        engine=engine,
        force=force,
        on_error=on_error,
        kind=kind,
    )
    return embedded


def embed_all(
    place: Place,
    encoders: Sequence[LazyEncoder],
    store: EmbeddingStore,
    *,
    recursive: bool = True,
    workers: int | None = None,
    engine: Engine | None = None,
    force: bool = False,
    on_error: OnError = "fail",
    kind: Kind = "clip",
) -> list[EmbeddingSet]:
    """The clip vectors by several encoders in one pass, decoded once for each sample rate.

    One set per encoder, in their order; the options are those of ``embed``.
    """
    files = _Files(place, recursive)
    work = EmbeddingWork(tuple(encoders), store, force, kind)
    records: dict[int, Record] = {}
    bad: dict[int, str] = {}
    for index, record in _records(files, work, engine or LocalEngine(workers)):
        if record.reason is None:
            records[index] = record
        else:
            bad[index] = record.reason
    left_out = _check(files, bad, on_error)
    good = [i for i in range(len(files)) if i in records]
    return [
        _embedding_set(
            *([files.shown(i) for i in good], [records[i].clips[number] for i in good]),
            *([records[i].digest for i in good], left_out),
            *(
                sum(records[i].encoded[number] for i in good),
                encoder.spec.name if kind == "frames" else None,
            ),
        )
        for number, encoder in enumerate(encoders)
    ]


def fill_store(
    place: Place,
    encoders: Sequence[LazyEncoder],
    store: EmbeddingStore,
    *,
    recursive: bool = True,
    workers: int | None = None,
    engine: Engine | None = None,
    force: bool = False,
    on_error: OnError = "fail",
    kind: Kind = "clip",
) -> FilledStore:
    """As ``embed_all``, but the embeddings stay in the store: memory does not grow with them."""
    files = _Files(place, recursive)
    work = EmbeddingWork(tuple(encoders), store, force, kind, keep=False)
    encoded = np.zeros(len(encoders), dtype=np.int64)
    bad: dict[int, str] = {}
    for index, record in _records(files, work, engine or LocalEngine(workers)):
        if record.reason is None:
            encoded += record.encoded
        else:
            bad[index] = record.reason
    left_out = _check(files, bad, on_error)
    return FilledStore(len(files) - len(bad), tuple(encoded.tolist()), left_out)


def _records(files: _Files, work: EmbeddingWork, engine: Engine) -> Iterator[tuple[int, Record]]:
    """What became of each file, whoever looked after it."""
    bad = 0
    runs = engine.run(
        *(work.worker, files), title=files.title, unit="clip", ahead=work.reader.ahead
    )
    for index, found in runs:
        record = Record(reason=found.reason) if isinstance(found, Lost) else found
        bad += record.reason is not None
        yield index, record
    if engine.summary is not None:
        logger.info("%s: %s", files.title, engine.summary.describe("clip", bad))


class _Files(Sequence[Path]):
    """The files of a place, as workers anywhere can open them; only names are held."""

    def __init__(self, place: Place, recursive: bool) -> None:
        if isinstance(place, (str, Path)):
            self._root = place_of(place)
            self._names = list_audio(self._root, recursive=recursive)
            self.title = self._root.name or url_of(self._root)
        else:
            self._root, self._names = Path(), [str(place_of(file)) for file in place]
            self.title = "clips"

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> list[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | list[Path]:
        if isinstance(index, slice):
            return [absolute(self._root / name) for name in self._names[index]]
        return absolute(self._root / self._names[index])

    def shown(self, index: int) -> Path:
        """The file as the user named it."""
        return self._root / self._names[index]


def _check(files: _Files, bad: dict[int, str], on_error: OnError) -> tuple[BadClip, ...]:
    """The bad files, or an error if there may be none or nothing else is there."""
    left_out = tuple(BadClip(files.shown(index), bad[index]) for index in sorted(bad))
    if left_out and (on_error == "fail" or len(left_out) == len(files)):
        raise AudioError(report(left_out, len(files)))
    return left_out


def _embedding_set(
    files: Sequence[Path],
    clips: Sequence[StoredClip],
    digests: Sequence[str],
    bad: tuple[BadClip, ...],
    encoded: int,
    frames_of: str | None,
) -> EmbeddingSet:
    frames, note = None, ""
    vectors = [clip.values for clip in clips]
    counts = tuple(len(values) for values in vectors) if frames_of is not None else ()
    if frames_of is not None:
        frames = np.concatenate(vectors)
        note = f"{len(frames)} frames of {frames_of}, from {len(files)} clips"
        vectors = [values.mean(axis=0) for values in vectors]
    return EmbeddingSet(
        vectors=np.stack(vectors),
        files=tuple(files),
        audits=tuple(clip.audit for clip in clips),
        digests=tuple(digests),
        bad=bad,
        encoded=encoded,
        frames=frames,
        frame_counts=counts,
        note=note,
    )
