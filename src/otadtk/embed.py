"""Embeds audio files: the only loop over files. What the store knows is neither decoded nor encoded."""

from __future__ import annotations

import hashlib
import logging
import os
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
from otadtk.store import EmbeddingStore, StoredClip

if TYPE_CHECKING:
    import torch

    from otadtk.encoders import Encoder, Encoding

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
    """The vectors ``(n, d)`` of a set of clips, with what is known of each; ``bad`` were left out."""

    vectors: NDArray[np.float32]
    files: tuple[Path, ...]
    audits: tuple[Audit, ...]
    digests: tuple[str, ...]
    bad: tuple[BadClip, ...]
    encoded: int
    """How many clips went through the network; the others came from the store."""


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
) -> EmbeddingSet:
    """The clip vectors of a folder, a file or a list of files, in a stable order.

    With ``on_error="fail"`` every file is tried, then all that failed are reported at once.
    """
    if isinstance(place, (str, Path)):
        files = find_audio(Path(place), recursive=recursive)
        title = Path(place).name or str(place)
    else:
        files, title = [Path(file) for file in place], "clips"
    run = _Run(files, encoder, store, force)
    run.work(workers or default_workers(), title)
    bad = tuple(BadClip(file, run.reasons[i]) for i, file in enumerate(files) if i in run.reasons)
    good = [i for i in range(len(files)) if i not in run.reasons]
    if bad and (on_error == "fail" or not good):
        raise AudioError(_report(bad, len(files)))
    done = [run.done[i] for i in good]
    return EmbeddingSet(
        vectors=np.stack([clip.values for clip in done]),
        files=tuple(files[i] for i in good),
        audits=tuple(clip.audit for clip in done),
        digests=tuple(run.digests[i] for i in good),
        bad=bad,
        encoded=run.encoded,
    )


def _report(bad: Sequence[BadClip], total: int) -> str:
    lines = [f"{len(bad)} of {total} files cannot be scored (--on-error skip leaves them out):"]
    return "\n".join(lines + [f"  {clip.path}: {clip.reason}" for clip in bad])


@dataclass(eq=False)
class _OpenClip:
    """A clip on its way through the network."""

    index: int
    path: Path
    status: os.stat_result
    reader: AudioReader
    encodings: list[Encoding] = field(default_factory=list)
    segments: int = 0
    read_to_end: bool = False


class _Run:
    """One pass over a list of files by several workers.

    Each worker decodes and encodes for itself with one torch thread: two OpenMP threads that wait
    for each other on busy cores were seen 40 times slower than one.
    """

    def __init__(
        self, files: Sequence[Path], encoder: LazyEncoder, store: EmbeddingStore, force: bool
    ) -> None:
        self._files = files
        self._encoder = encoder
        self._store = store
        self._force = force
        self._next = iter(range(len(files)))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.done: dict[int, StoredClip] = {}
        self.digests: dict[int, str] = {}
        self.reasons: dict[int, str] = {}
        self.encoded = 0

    def work(self, workers: int, title: str) -> None:
        """Take every file to its vector or its reason."""
        from tqdm import tqdm

        workers = min(workers, len(self._files))
        with (
            tqdm(total=len(self._files), desc=title, unit="clip", disable=None) as self._bar,
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
        pending: list[tuple[_OpenClip, torch.Tensor]] = []
        budget = BATCH_SECONDS * self._encoder.spec.sample_rate
        for clip in self._missing_clips():
            for segment in self._segments(clip):
                pending.append((clip, segment))
                if sum(len(s) for _, s in pending) >= budget:
                    self._encode(pending)
                    pending = []
            self._store_if_complete(clip)
        if pending and not self._stop.is_set():
            self._encode(pending)

    def _missing_clips(self) -> Iterator[_OpenClip]:
        """The next files that the store does not know."""
        spec = self._encoder.spec
        while not self._stop.is_set():
            with self._lock:
                index = next(self._next, None)
            if index is None:
                return
            path = self._files[index]
            try:
                status = path.stat()
                digest = _digest(path)
            except OSError as error:
                self._fail(index, f"it cannot be read: {error.strerror}")
                continue
            self.digests[index] = digest
            stored = None if self._force else self._store.get(digest, spec.fingerprint)
            if stored is not None and stored.values.shape == (spec.dim,):
                self._finish(index, stored)
            else:
                yield _OpenClip(index, path, status, AudioReader(path, spec.sample_rate))

    def _segments(self, clip: _OpenClip) -> Iterator[torch.Tensor]:
        """The segments of a clip; one that turns out to be bad gives its reason instead."""
        import torch

        from otadtk.encoders.pooling import split

        try:
            for samples in split(clip.reader, self._encoder.spec):
                clip.segments += 1
                yield torch.from_numpy(np.ascontiguousarray(samples))
            status = clip.path.stat()
            if (status.st_mtime_ns, status.st_size) != (
                clip.status.st_mtime_ns,
                clip.status.st_size,
            ):
                raise AudioError("it changed while it was being read")
            clip.read_to_end = True
        except (AudioError, OSError) as error:
            self._fail(clip.index, str(error))

    def _encode(self, pending: Sequence[tuple[_OpenClip, torch.Tensor]]) -> None:
        """Run the network over a batch of segments."""
        import torch

        encoder = self._encoder.get()
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
        vector = self._encoder.get().pool(clip.encodings).numpy()
        stored = StoredClip(vector, clip.reader.audit)
        self._store.put(self.digests[clip.index], self._encoder.spec.fingerprint, stored)
        with self._lock:
            self.encoded += 1
        self._finish(clip.index, stored)

    def _finish(self, index: int, clip: StoredClip) -> None:
        self.done[index] = clip
        self._bar.update()

    def _fail(self, index: int, reason: str) -> None:
        self.reasons[index] = reason
        self._bar.update()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
