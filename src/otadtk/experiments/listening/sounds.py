"""The sounds of listening tests as vectors, from the store; excerpts are cut into files first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import soundfile

from otadtk.embed import Embedder, LazyEncoder
from otadtk.encoders import EncoderSpec
from otadtk.errors import UsageError
from otadtk.experiments.data import Points
from otadtk.experiments.listening.sets import Excerpt
from otadtk.experiments.run import Source


class Sounds:
    """All sounds of a run. Each passes a network once, however many tests and metrics share it."""

    def __init__(self, excerpts: Iterable[Excerpt], source: Source, folder: Path) -> None:
        self._source = source
        self._rows = {excerpt: row for row, excerpt in enumerate(dict.fromkeys(excerpts))}
        self._files = [_cut(e, folder / f"{row:06d}.wav") for e, row in self._rows.items()]
        self._vectors: dict[str, Points] = {}
        self._digests: tuple[str, ...] = ()

    def embed(self, spec: EncoderSpec) -> None:
        """Bring all sounds through an encoder, or out of the store."""
        if spec.fingerprint not in self._vectors:
            source = self._source
            embedder = Embedder(LazyEncoder(spec), source.store, source.request.engine)
            found = embedder.load(self._files)
            self._vectors[spec.fingerprint], self._digests = found.vectors, found.digests

    def vectors(self, spec: EncoderSpec, excerpts: Sequence[Excerpt]) -> Points:
        """The vectors of some sounds, once ``embed`` has brought them."""
        return self._vectors[spec.fingerprint][[self._rows[excerpt] for excerpt in excerpts]]

    def digest(self, excerpts: Iterable[Excerpt]) -> str:
        """A hash of the content of some sounds."""
        content = " ".join(self._digests[self._rows[excerpt]] for excerpt in excerpts)
        return hashlib.sha256(content.encode()).hexdigest()


def _cut(excerpt: Excerpt, target: Path) -> Path:
    """The file of a sound; an excerpt is written as float samples at the file's own rate.

    The same excerpt gives the same bytes, so the store knows it again.
    """
    if excerpt.whole:
        return excerpt.file
    try:
        rate = soundfile.info(excerpt.file).samplerate
        start = round((excerpt.start or 0.0) * rate)
        stop = None if excerpt.end is None else round(excerpt.end * rate)
        samples, _ = soundfile.read(
            excerpt.file, start=start, stop=stop, dtype="float32", always_2d=True
        )
    except (soundfile.LibsndfileError, OSError) as error:
        raise UsageError(
            f"No excerpt can be cut from {excerpt.file} ({error}); convert it to wav or flac."
        ) from error
    if not np.size(samples):
        raise UsageError(
            f"{excerpt.file} ends before {excerpt.start:g} s, where an excerpt starts."
        )
    soundfile.write(target, samples, rate, subtype="FLOAT")
    return target
