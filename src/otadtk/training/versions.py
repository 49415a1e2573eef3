"""Embeds clips and degraded versions of them; each vector is computed once and stored."""

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.decode import AudioReader
from otadtk.audio.faults import Chain, value_of
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore, StoredClip
from otadtk.encoders import Encoder, EncoderSpec
from otadtk.encoders.features.layers import LayersEncoder
from otadtk.encoders.features.measured import MeasuredEncoder, Measurement, network_spec, parts_of
from otadtk.engine import Engine
from otadtk.errors import AudioError
from otadtk.training.datasets import LabelledClip
from otadtk.training.spoil import (
    CHAINED,
    CLEAN,
    OwnFaults,
    apply_own_fault,
    make_chain,
    make_version,
)

logger = logging.getLogger(__name__)

ALWAYS = ("noise", "shuffle")
"""The kinds of fault that the paper's probes need for every clip."""
OTHERS = ("clicks", "dropouts", "clipping", "band_limit", "loop", "hum", "hold")
UNSEEN = ("crush", "holes", "metallic")
"""Kinds of fault that no adapter is trained on; they measure generalisation."""
SHORTEST_SHUFFLED = 1.5
_FORMAT = "versions/2"
_MOST_NAMED = 10


@dataclass(frozen=True)
class Version:
    """One version of one clip: clean, or with a fault of a kind and strength, or with a chain."""

    clip: int
    kind: str
    strength: float
    chain: Chain = ()
    """The faults of ``otadtk.audio.faults`` in it; empty for the first kinds of ``perturb``."""

    @classmethod
    def of_chain(cls, clip: int, chain: Chain) -> Version:
        """The version of a clip with these faults, named after them and the strongest one."""
        kind = CHAINED + "+".join(step.kind for step in chain)
        return cls(clip, kind, max(step.strength for step in chain), chain)


_NO_FAULTS: OwnFaults = {}
_Embedded = list[tuple[Version, NDArray[np.float32]]] | str
"""The vectors of a clip's versions, or the reason why it cannot be read."""


@dataclass(frozen=True, eq=False)
class VersionSet:
    """The vectors ``(n, d)`` of all versions, and which clip, kind and strength each row is."""

    vectors: NDArray[np.float32]
    clip: NDArray[np.int64]
    kind: NDArray[np.str_]
    strength: NDArray[np.float64]
    chains: tuple[Chain, ...] = ()
    """The faults of ``otadtk.audio.faults`` in each row."""

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
    clips: Sequence[LabelledClip],
    seed: int,
    others: int,
    unseen: Sequence[bool],
    own: Sequence[str] = (),
) -> list[Version]:
    """The versions of each clip; they depend only on the clip's name and the seed.

    Every clip gets: clean, ``ALWAYS``, ``others`` kinds out of ``OTHERS``, and all ``own`` kinds. Clips
    marked in ``unseen`` also get ``UNSEEN``.
    """
    versions = []
    for index, (clip, also) in enumerate(zip(clips, unseen, strict=True)):
        name = f"{seed} {clip.label} {clip.path.name}"
        rng = np.random.default_rng(zlib.crc32(name.encode(errors="surrogateescape")))
        kinds = [*ALWAYS, *rng.permutation(OTHERS)[:others], *(UNSEEN if also else ()), *own]
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
    engine: Engine,
    measured_only: bool = False,
    own: OwnFaults = _NO_FAULTS,
) -> VersionSet:
    """The vectors of all versions; stored ones are not computed again. ``own`` makes own kinds.

    All clips are tried before an error lists every clip that cannot be read. ``measured_only``
    leaves out what the network gives: the vectors are those of the weight-free features alone.
    """
    wanted: list[list[Version]] = [[] for _ in clips]
    for version in versions:
        wanted[version.clip].append(version)
    pairs = [
        (replace(clip, path=clip.path.absolute()), versions)  # a worker's folder may be another
        for clip, versions in zip(clips, wanted, strict=True)
    ]
    bad: list[str] = []
    found: list[tuple[Version, NDArray[np.float32]]] = []
    embedded = engine.map(
        partial(_clip_embedder, encoder, store, measured_only, own),
        pairs,
        title="clips and versions",
        unit="clip",
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
        tuple(version.chain for version, _ in found),
    )


def _key(digest: str, version: Version) -> str:
    """The store's key of a version: a hash of the audio, the kind and the strength."""
    if version.kind == CLEAN:
        text = f"{_FORMAT} {digest}"
    elif version.chain:  # by value: another calibration is another fault
        steps = (f"{s.kind} {value_of(s.kind, s.strength)!r}" for s in version.chain)
        text = f"{_FORMAT} {digest} faults {'; '.join(steps)}"
    else:
        text = f"{_FORMAT} {digest} {version.kind} {version.strength!r}"
    return hashlib.sha256(text.encode()).hexdigest()


def _clip_embedder(
    encoder: LazyEncoder, store: EmbeddingStore, measured_only: bool, own: OwnFaults
) -> Callable[[tuple[LabelledClip, Sequence[Version]]], _Embedded]:
    return lambda pair: _embed_clip(*pair, encoder, store, measured_only, own)


def _embed_clip(
    clip: LabelledClip,
    versions: Sequence[Version],
    encoder: LazyEncoder,
    store: EmbeddingStore,
    measured_only: bool,
    own: OwnFaults,
) -> _Embedded:
    """The vectors of one clip's versions, or the reason why it cannot be read."""
    if not versions:
        return []
    try:
        digest = hashlib.sha256(clip.path.read_bytes()).hexdigest()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    keys = [_key(digest, version) for version in versions]
    columns = []
    rate = network_spec(encoder.spec).sample_rate
    reader: AudioReader | None = None
    made: dict[int, NDArray[np.float32] | None] = {}
    if own:
        reader = AudioReader(clip.path, rate)
        try:
            waveform = np.concatenate(list(reader))
        except AudioError as error:
            return str(error)
        for i, version in enumerate(versions):
            if version.kind in own:  # by its sound: what a function does may change
                spoilt = apply_own_fault(
                    waveform, rate, version.kind, own[version.kind], version.strength
                )
                made[i] = spoilt
                keys[i] = hashlib.sha256(_FORMAT.encode() + spoilt.tobytes()).hexdigest()
    # the parts of a vector are stored apart, so that each can be used alone
    for spec, measurement in parts_of(encoder.spec):
        if measured_only and measurement is None:
            continue
        column = [store.get(key, spec.fingerprint) for key in keys]
        missing = [i for i, entry in enumerate(column) if entry is None]
        if missing:
            if reader is None:
                reader = AudioReader(clip.path, rate)
                try:
                    waveform = np.concatenate(list(reader))
                except AudioError as error:
                    return str(error)
            for i in missing:
                if i not in made:
                    made[i] = _degrade(waveform, rate, versions[i])
            degraded = [made[i] for i in missing]
            if measurement is None:
                vectors = _vectors(degraded, _inside(encoder.get(), spec))
            else:
                vectors = _features(degraded, network_spec(encoder.spec), measurement)
            for i, vector in zip(missing, vectors, strict=True):
                column[i] = StoredClip(vector, reader.audit)
                store.put(keys[i], spec.fingerprint, StoredClip(vector, reader.audit))
        columns.append([entry.values for entry in column if entry is not None])
    joined = [np.concatenate(values) for values in zip(*columns, strict=True)]
    return [(v, x) for v, x in zip(versions, joined, strict=True) if len(x)]


def _degrade(
    waveform: NDArray[np.float32], rate: int, version: Version
) -> NDArray[np.float32] | None:
    """The version of a waveform; ``None`` if the clip is too short to be shuffled."""
    if version.kind == "shuffle" and len(waveform) < SHORTEST_SHUFFLED * rate:
        return None
    if version.chain:
        return make_chain(waveform, rate, version.chain)
    return make_version(waveform, rate, version.kind, version.strength)


_NOTHING = np.zeros(0, dtype=np.float32)
"""Stored for a version that cannot be made."""


def _inside(encoder: Encoder, spec: EncoderSpec) -> Encoder:
    """The encoder of a part inside a loaded one."""
    while encoder.spec != spec and isinstance(encoder, (MeasuredEncoder, LayersEncoder)):
        encoder = encoder.inner
    return encoder


def _vectors(
    degraded: Sequence[NDArray[np.float32] | None], network: Encoder
) -> list[NDArray[np.float32]]:
    """Clip vectors of the encoder; segments of different versions share batches."""
    import torch

    from otadtk.encoders.pooling import split

    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)  # for this worker thread only
    cut = [[] if w is None else list(split([w], network.spec)) for w in degraded]
    segments = [torch.from_numpy(np.ascontiguousarray(s)) for parts in cut for s in parts]
    encodings = iter(network.encode_segments(segments) if segments else [])
    return [
        network.pool([next(encodings) for _ in parts]).numpy() if parts else _NOTHING
        for parts in cut
    ]


def _features(
    degraded: Sequence[NDArray[np.float32] | None], spec: EncoderSpec, measurement: Measurement
) -> list[NDArray[np.float32]]:
    """The measurements of each version's first segment, as for clips.

    Versions are made at the network's rate. A measurement at a higher rate looks at what lies
    above, where they have nothing: its values are 0.
    """
    rate, longest = spec.sample_rate, spec.segment_samples
    if measurement.rate is not None and measurement.rate > rate:
        nothing = np.zeros(measurement.count, dtype=np.float32)
        return [_NOTHING if w is None else nothing for w in degraded]
    return [_NOTHING if w is None else measurement.measure(w[:longest], rate) for w in degraded]
