"""Embeddings of clips and of their spoilt versions, computed once and kept in the store."""

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from otadtk.audio import AudioReader
from otadtk.embed import LazyEncoder
from otadtk.encoders.signal import SIGNAL, SignalEncoder, inner_spec
from otadtk.encoders.signal_features import signal_features
from otadtk.engine import Engine, LocalEngine
from otadtk.errors import AudioError
from otadtk.perturb import perturb
from otadtk.store import EmbeddingStore, StoredClip
from otadtk.training.datasets import LabelledClip

logger = logging.getLogger(__name__)

CLEAN = "clean"
ALWAYS = ("noise", "shuffle")
"""The kinds that the probes of the paper need of every clip."""
OTHERS = ("clicks", "dropouts", "clipping", "band_limit", "loop", "hum", "hold")
UNSEEN = ("crush", "holes", "metallic")
"""Kinds that no adapter is trained on; on held-out classes they measure generalisation."""
SHORTEST_SHUFFLED = 1.5
_FORMAT = "versions/1"
_MOST_NAMED = 10


@dataclass(frozen=True)
class Version:
    """One version of one clip: clean, or with a fault of a kind and strength."""

    clip: int
    kind: str
    strength: float


_Embedded = list[tuple[Version, NDArray[np.float32]]] | str
"""The vectors of a clip's versions, or why it cannot be read."""


@dataclass(frozen=True, eq=False)
class VersionSet:
    """The vectors ``(n, d)`` of all versions, and which clip, kind and strength each row is."""

    vectors: NDArray[np.float32]
    clip: NDArray[np.int64]
    kind: NDArray[np.str_]
    strength: NDArray[np.float64]

    def rows(self, kind: str, strength: float | None = None) -> NDArray[np.int64]:
        """The row of each clip's version of a kind (of that strength), −1 where it has none."""
        found = np.full(int(self.clip.max()) + 1, -1, dtype=np.int64)
        of_kind = self.kind == kind
        chosen = np.flatnonzero(
            of_kind if strength is None else of_kind & (self.strength == strength)
        )
        found[self.clip[chosen]] = chosen
        return found


def plan_versions(
    clips: Sequence[LabelledClip], seed: int, others: int, unseen: Sequence[bool]
) -> list[Version]:
    """Which versions are made of each clip; it depends on the clip's name and the seed alone.

    Every clip: clean, ``ALWAYS``, and ``others`` of ``OTHERS``; the clips marked in ``unseen``
    also all of ``UNSEEN``.
    """
    versions = []
    for index, (clip, also) in enumerate(zip(clips, unseen, strict=True)):
        name = f"{seed} {clip.label} {clip.path.name}"
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        kinds = [*ALWAYS, *rng.permutation(OTHERS)[:others], *(UNSEEN if also else ())]
        versions.append(Version(index, CLEAN, 0.0))
        for kind in kinds:
            versions.append(Version(index, str(kind), float(rng.random())))
    return versions


def embed_versions(
    clips: Sequence[LabelledClip],
    versions: Sequence[Version],
    encoder: LazyEncoder,
    store: EmbeddingStore,
    *,
    workers: int | None = None,
    engine: Engine | None = None,
) -> VersionSet:
    """The vectors of all versions; what the store has is not computed again.

    Every clip is tried, then all that cannot be read are reported at once.
    """
    wanted: list[list[Version]] = [[] for _ in clips]
    for version in versions:
        wanted[version.clip].append(version)
    pairs = [
        (replace(clip, path=clip.path.absolute()), versions)  # workers have other folders
        for clip, versions in zip(clips, wanted, strict=True)
    ]
    bad: list[str] = []
    found: list[tuple[Version, NDArray[np.float32]]] = []
    engine = engine or LocalEngine(workers)
    embedded = engine.map(
        *(partial(_clip_embedder, encoder, store), pairs), title="clips and versions", unit="clip"
    )
    for clip, result in zip(clips, embedded, strict=True):
        if isinstance(result, str):
            bad.append(f"  {clip.path}: {result}")
        else:
            found.extend(result)
    if bad:
        more = [f"  and {len(bad) - _MOST_NAMED} more"] if len(bad) > _MOST_NAMED else []
        raise AudioError(
            "\n".join(
                [f"{len(bad)} of {len(clips)} clips cannot be read:", *bad[:_MOST_NAMED], *more]
            )
        )
    return VersionSet(
        np.stack([vector for _, vector in found]),
        np.array([version.clip for version, _ in found], dtype=np.int64),
        np.array([version.kind for version, _ in found]),
        np.array([version.strength for version, _ in found]),
    )


def _key(digest: str, version: Version) -> str:
    """The store's key of a version: the hash of the audio and of what was done to it."""
    if version.kind == CLEAN:
        text = f"{_FORMAT} {digest}"
    else:
        text = f"{_FORMAT} {digest} {version.kind} {version.strength!r}"
    return hashlib.sha256(text.encode()).hexdigest()


def _clip_embedder(
    encoder: LazyEncoder, store: EmbeddingStore
) -> Callable[[tuple[LabelledClip, Sequence[Version]]], _Embedded]:
    return lambda pair: _embed_clip(*pair, encoder, store)


def _embed_clip(
    clip: LabelledClip, versions: Sequence[Version], encoder: LazyEncoder, store: EmbeddingStore
) -> _Embedded:
    """The vectors of one clip's versions, or why it cannot be read."""
    try:
        digest = hashlib.sha256(clip.path.read_bytes()).hexdigest()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    # the vectors and the signal features lie apart in the store: each serves without the other
    parts = [(encoder.spec, _vectors)]
    inner = inner_spec(encoder.spec)
    if inner is not None:
        parts = [(inner, _vectors), (SIGNAL, _features)]
    keys = [_key(digest, version) for version in versions]
    columns = []
    waveform: NDArray[np.float32] | None = None
    for spec, compute in parts:
        column = [store.get(key, spec.fingerprint) for key in keys]
        missing = [i for i, entry in enumerate(column) if entry is None]
        if missing:
            reader = AudioReader(clip.path, encoder.spec.sample_rate)
            try:
                waveform = np.concatenate(list(reader))
            except AudioError as error:
                return str(error)
            spoilt = [_spoil(waveform, encoder.spec.sample_rate, versions[i]) for i in missing]
            for i, vector in zip(missing, compute(spoilt, encoder), strict=True):
                column[i] = StoredClip(vector, reader.audit)
                store.put(keys[i], spec.fingerprint, StoredClip(vector, reader.audit))
        columns.append([entry.values for entry in column if entry is not None])
    joined = [np.concatenate(values) for values in zip(*columns, strict=True)]
    return [(v, x) for v, x in zip(versions, joined, strict=True) if len(x)]


def make_version(
    waveform: NDArray[np.float32], rate: int, kind: str, strength: float
) -> NDArray[np.float32]:
    """A version of a waveform as a 16-bit file would hold it; the fault depends on both only."""
    if kind != CLEAN:
        seed = zlib.crc32(f"{kind} {strength!r} {len(waveform)}".encode())
        waveform = perturb(kind, waveform, rate, np.random.default_rng(seed), strength)
    rounded = np.round(np.clip(waveform, -1.0, 1.0) * 32767.0) / 32767.0
    return rounded.astype(np.float32)


def _spoil(
    waveform: NDArray[np.float32], rate: int, version: Version
) -> NDArray[np.float32] | None:
    """The version of a waveform; ``None`` for a clip that is too short to be shuffled."""
    if version.kind == "shuffle" and len(waveform) < SHORTEST_SHUFFLED * rate:
        return None
    return make_version(waveform, rate, version.kind, version.strength)


_NOTHING = np.zeros(0, dtype=np.float32)
"""What is stored of a version that does not exist."""


def _vectors(
    spoilt: Sequence[NDArray[np.float32] | None], encoder: LazyEncoder
) -> list[NDArray[np.float32]]:
    """Clip vectors of the encoder; the segments of all versions share its batches."""
    import torch

    from otadtk.encoders.pooling import split

    network = encoder.get()
    network = network.inner if isinstance(network, SignalEncoder) else network
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)  # of this worker's thread
    cut = [[] if w is None else list(split([w], network.spec)) for w in spoilt]
    segments = [torch.from_numpy(np.ascontiguousarray(s)) for parts in cut for s in parts]
    encodings = iter(network.encode_segments(segments) if segments else [])
    return [
        network.pool([next(encodings) for _ in parts]).numpy() if parts else _NOTHING
        for parts in cut
    ]


def _features(
    spoilt: Sequence[NDArray[np.float32] | None], encoder: LazyEncoder
) -> list[NDArray[np.float32]]:
    """Signal features of whole versions (of the first segment's length at most, as clips are)."""
    rate, longest = encoder.spec.sample_rate, encoder.spec.segment_samples
    return [_NOTHING if w is None else signal_features(w[:longest], rate) for w in spoilt]
