"""Embeds audio files: the only loop over files. What the store knows is neither decoded nor encoded."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from otadtk.audio import AudioReader, Audit, find_audio
from otadtk.encoders import EncoderSpec, load_encoder
from otadtk.errors import AudioError
from otadtk.store import EmbeddingStore, Kind, StoredClip

if TYPE_CHECKING:
    import torch

    from otadtk.encoders import Encoder, Encoding
    from otadtk.encoders.pooling import Segmenter

logger = logging.getLogger(__name__)

OnError = Literal["fail", "skip"]
BATCH_SECONDS = 60.0
"""How much audio a worker collects before it calls the network."""


@dataclass(frozen=True)
class BadClip:
    """A file that cannot be scored, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class EmbeddingSet:
    """The vectors ``(n, d)`` of a set of clips, with what is known of each; ``bad`` were left out.

    An audit is ``None`` where only the embedding is known, not the audio.
    """

    vectors: NDArray[np.float32]
    files: tuple[Path, ...]
    audits: tuple[Audit | None, ...]
    digests: tuple[str, ...]
    bad: tuple[BadClip, ...]
    encoded: int
    """How many clips went through the network; the others came from the store."""
    frames: NDArray[np.floating] | None = None
    """The frames of all clips, where these are compared and not the clip vectors."""
    frame_counts: tuple[int, ...] = ()
    """How many of the frames belong to each clip."""
    note: str = ""
    """Where the set comes from, if not from audio by clip vectors."""
    moments_only: bool = False
    """Whether only the mean and the covariance of ``frames`` mean anything."""

    @property
    def points(self) -> NDArray[np.floating]:
        """What a metric compares: the clip vectors, or the frames."""
        return self.vectors if self.frames is None else self.frames

    def frames_by_clip(self) -> list[NDArray[np.floating]]:
        """The frames of each clip, where the set has frames."""
        assert self.frames is not None, "the set has no frames"
        return np.split(self.frames, np.cumsum(self.frame_counts)[:-1])

    def flags(self, minimum_seconds: float) -> list[tuple[str, ...]]:
        """What is odd about each clip; below ``minimum_seconds`` a clip counts as short."""
        return [audit.flags(minimum_seconds) if audit else () for audit in self.audits]


class LazyEncoder:
    """An encoder that is built, once, when the first clip really needs it."""

    def __init__(
        self,
        spec: EncoderSpec,
        device: str | None = None,
        weights: Path | None = None,
        loaded: Encoder | None = None,
    ) -> None:
        self.spec = spec
        self._device = device
        self._weights = weights
        self._lock = threading.Lock()
        self._encoder = loaded
        if weights is not None:  # the user's own file is checked even if the store has everything
            self.get()

    def get(self) -> Encoder:
        """The loaded encoder."""
        from otadtk.device import resolve_device

        with self._lock:
            if self._encoder is None:
                device = resolve_device(self._device)
                self._encoder = load_encoder(self.spec, device, self._weights)
                _let_malloc_keep_memory()
            return self._encoder


def _let_malloc_keep_memory() -> None:
    """Teach glibc not to return the memory of every layer's output to the system.

    Freeing one block of nearly 32 MB, the largest that moves glibc's dynamic threshold, makes it
    keep blocks of that size: without it, page faults take a quarter of an encoder's time.
    """
    import torch

    torch.empty(30 << 20, dtype=torch.uint8)


def default_workers() -> int:
    """One worker per core that this process may use, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(8, cores or 1)


def embed(
    place: str | Path | Sequence[str | Path],
    encoder: LazyEncoder,
    store: EmbeddingStore,
    *,
    recursive: bool = True,
    workers: int | None = None,
    force: bool = False,
    on_error: OnError = "fail",
    kind: Kind = "clip",
) -> EmbeddingSet:
    """The clip vectors of a folder, a file or a list of files, in a stable order.

    With ``kind="frames"`` the set has their frames too, and vectors are the means of these.
    With ``on_error="fail"`` every file is tried, then all that failed are reported at once.
    """
    (embedded,) = embed_all(
        *(place, [encoder], store),
        recursive=recursive,
        workers=workers,
        force=force,
        on_error=on_error,
        kind=kind,
    )
    return embedded


def embed_all(
    place: str | Path | Sequence[str | Path],
    encoders: Sequence[LazyEncoder],
    store: EmbeddingStore,
    *,
    recursive: bool = True,
    workers: int | None = None,
    force: bool = False,
    on_error: OnError = "fail",
    kind: Kind = "clip",
) -> list[EmbeddingSet]:
    """The clip vectors by several encoders in one pass, decoded once for each sample rate.

    One set per encoder, in their order; the options are those of ``embed``.
    """
    if isinstance(place, (str, Path)):
        files = find_audio(Path(place), recursive=recursive)
        title = Path(place).name or str(place)
    else:
        files, title = [Path(file) for file in place], "clips"
    run = _Run(files, encoders, store, force, kind)
    run.work(workers or default_workers(), title)
    bad = tuple(BadClip(file, run.reasons[i]) for i, file in enumerate(files) if i in run.reasons)
    good = [i for i in range(len(files)) if i not in run.reasons]
    if bad and (on_error == "fail" or not good):
        raise AudioError(_report(bad, len(files)))
    return [
        _embedding_set(
            *([files[i] for i in good], [done[i] for i in good], [run.digests[i] for i in good]),
            *(bad, encoded, encoder.spec.name if kind == "frames" else None),
        )
        for done, encoded, encoder in zip(run.done, run.encoded, encoders, strict=True)
    ]


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


def _report(bad: Sequence[BadClip], total: int) -> str:
    what = f"{len(bad)} of {total} files cannot be scored (--on-error skip leaves them out):"
    reasons = [f"{clip.path}: {clip.reason}" for clip in bad]
    return f"{what} {reasons[0]}" if len(bad) == 1 else "\n  ".join([what, *reasons])


@dataclass(eq=False)
class _OpenClip:
    """A clip on its way through one network, the one with that number."""

    index: int
    number: int
    reader: AudioReader
    segmenter: Segmenter
    encodings: list[Encoding] = field(default_factory=list)
    segments: int = 0
    read_to_end: bool = False


Pending = list[tuple[_OpenClip, "torch.Tensor"]]


class _Run:
    """One pass over a list of files by several workers, for one encoder or more.

    Each worker decodes and encodes for itself with one torch thread: two OpenMP threads that wait
    for each other on busy cores were seen 40 times slower than one.
    """

    def __init__(
        self,
        files: Sequence[Path],
        encoders: Sequence[LazyEncoder],
        store: EmbeddingStore,
        force: bool,
        kind: Kind,
    ) -> None:
        self._files = files
        self._encoders = encoders
        self._store = store
        self._force = force
        self._kind: Kind = kind
        self._next = iter(range(len(files)))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.done: list[dict[int, StoredClip]] = [{} for _ in encoders]
        self.digests: dict[int, str] = {}
        self._status: dict[int, tuple[int, int]] = {}
        self.reasons: dict[int, str] = {}
        self.encoded = [0 for _ in encoders]

    def work(self, workers: int, title: str) -> None:
        """Take every file to its vector or its reason."""
        from tqdm import tqdm

        workers = min(workers, len(self._files))
        total = len(self._files) * len(self._encoders)
        with (
            tqdm(total=total, desc=title, unit="clip", disable=None) as self._bar,
            ThreadPoolExecutor(workers) as pool,
        ):
            tasks = [pool.submit(self._worker) for _ in range(workers)]
            try:
                wait(tasks, return_when=FIRST_EXCEPTION)
            finally:
                self._stop.set()
        for task in tasks:
            task.result()

    def _worker(self) -> None:
        pending: list[Pending] = [[] for _ in self._encoders]
        for clips in self._missing_clips():
            for clip, segment in self._segments(clips):
                batch = pending[clip.number]
                batch.append((clip, segment))
                rate = self._encoders[clip.number].spec.sample_rate
                if sum(len(s) for _, s in batch) >= BATCH_SECONDS * rate:
                    self._encode(clip.number, batch)
                    pending[clip.number] = []
            for clip in clips:
                self._store_if_complete(clip)
        for number, batch in enumerate(pending):
            if batch and not self._stop.is_set():
                self._encode(number, batch)

    def _missing_clips(self) -> Iterator[list[_OpenClip]]:
        """The next files that the store does not know; for each rate, a clip per encoder."""
        from otadtk.encoders.pooling import Segmenter

        while not self._stop.is_set():
            with self._lock:
                index = next(self._next, None)
            if index is None:
                return
            path = self._files[index]
            try:
                self._status[index] = _time_and_size(path)
                self.digests[index] = _digest(path)
            except OSError as error:
                self._fail(index, f"it cannot be read: {error.strerror}", len(self._encoders))
                continue
            at_rate: dict[int, list[_OpenClip]] = {}
            for number in self._not_stored(index):
                spec = self._encoders[number].spec
                clips = at_rate.setdefault(spec.sample_rate, [])
                reader = clips[0].reader if clips else AudioReader(path, spec.sample_rate)
                clips.append(_OpenClip(index, number, reader, Segmenter(spec)))
            for clips in at_rate.values():
                if index in self.reasons:  # the file was bad at another rate already
                    self._bar.update(len(clips))
                else:
                    yield clips

    def _not_stored(self, index: int) -> list[int]:
        """The encoders, by number, whose embedding of a file is not in the store."""
        missing = []
        for number, encoder in enumerate(self._encoders):
            stored = None
            if not self._force:
                stored = self._store.get(self.digests[index], encoder.spec.fingerprint, self._kind)
            if stored is not None and self._is_sound(stored, encoder.spec.dim):
                self._finish(index, number, stored)
            else:
                missing.append(number)
        return missing

    def _is_sound(self, stored: StoredClip, dim: int) -> bool:
        shape = stored.values.shape
        return shape == (dim,) if self._kind == "clip" else len(shape) == 2 and shape[1] == dim

    def _segments(self, clips: Sequence[_OpenClip]) -> Iterator[tuple[_OpenClip, torch.Tensor]]:
        """The segments of a file for each encoder; one that is bad gives its reason instead."""
        import torch

        index, path = clips[0].index, self._files[clips[0].index]
        try:
            for block in clips[0].reader:
                for clip in clips:
                    for samples in clip.segmenter.feed(block):
                        clip.segments += 1
                        yield clip, torch.from_numpy(np.ascontiguousarray(samples))
            for clip in clips:
                for samples in clip.segmenter.finish():
                    clip.segments += 1
                    yield clip, torch.from_numpy(np.ascontiguousarray(samples))
            if _time_and_size(path) != self._status[index]:
                raise AudioError("it changed while it was being read")
            for clip in clips:
                clip.read_to_end = True
        except (AudioError, OSError) as error:
            self._fail(index, str(error), len(clips))

    def _encode(self, number: int, pending: Pending) -> None:
        """Run a network over a batch of segments."""
        import torch

        encoder = self._encoders[number].get()
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)  # of this worker's thread
        encodings = encoder.encode_segments([segment for _, segment in pending])
        for (clip, _), encoding in zip(pending, encodings, strict=True):
            clip.encodings.append(encoding)
        for clip in dict.fromkeys(clip for clip, _ in pending):
            self._store_if_complete(clip)

    def _store_if_complete(self, clip: _OpenClip) -> None:
        """Pool and store a clip that was read to its end and whose segments are all encoded."""
        if not clip.read_to_end or len(clip.encodings) < clip.segments:
            return
        encoder = self._encoders[clip.number]
        if self._kind == "clip":
            values = encoder.get().pool(clip.encodings).numpy()
        else:
            values = _counting_frames(clip.encodings)
        stored = StoredClip(values, clip.reader.audit)
        self._store.put(self.digests[clip.index], encoder.spec.fingerprint, stored, self._kind)
        with self._lock:
            self.encoded[clip.number] += 1
        self._finish(clip.index, clip.number, stored)

    def _finish(self, index: int, number: int, clip: StoredClip) -> None:
        self.done[number][index] = clip
        self._bar.update()

    def _fail(self, index: int, reason: str, encoders: int) -> None:
        self.reasons[index] = reason
        self._bar.update(encoders)


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
