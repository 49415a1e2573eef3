"""The frames of a clip: its AudioSet labels, and its cost along time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk import weights
from otadtk.audio.decode import AudioReader
from otadtk.audio.inputs import Clip, opened
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore, StoredClip
from otadtk.encoders import get_spec
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.encoders.pooling import join, split
from otadtk.encoders.spec import Encoding
from otadtk.errors import OtadtkError
from otadtk.metrics.ground import GroundMetric

Array = NDArray[np.float32]

LABELS_SHOWN = 3
_NO_SHARE = 1e-12
"""Smaller shares of a clip's mass are ignored: they change no digit of its cost."""
_LEAST_SCORE = 0.05
"""Labels below this score are noise."""


@dataclass(frozen=True)
class ClipFile:
    """A clip and its hash."""

    clip: Clip
    digest: str


def frames_of(clip: ClipFile, encoder: LazyEncoder, store: EmbeddingStore) -> Array:
    """All frames ``(n, d)`` of a clip in order of time, from the store if it has them.

    The store keeps them as "timeline". Its "frames" leave some out, so their times are unknown.
    """
    spec = encoder.spec
    stored = store.get(clip.digest, spec.fingerprint, "timeline")
    if stored is not None and stored.values.ndim == 2 and stored.values.shape[1] == spec.dim:
        return stored.values
    with opened(clip.clip) as path:
        reader = AudioReader(path, spec.sample_rate, spec.reading, clip.clip.excerpt)
        segments = [torch.from_numpy(np.ascontiguousarray(s)) for s in split(reader, spec)]
    frames = join(encoder.get().encode_segments(segments)).frames.cpu().float().numpy()
    store.put(clip.digest, spec.fingerprint, StoredClip(frames, reader.audit), "timeline")
    return frames


def cost_along_time(
    points: Array, reference: Array, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The cost ``(n,)`` of each point y_t against a clip's references: Σ_i share_i ‖x_i − y_t‖².

    With b = Σ_i share_i x_i that is ‖y_t − b‖² + Σ_i share_i ‖x_i − b‖².
    """
    used = shares > _NO_SHARE
    shares, near = shares[used], reference[used].astype(np.float64)
    centre = shares @ near
    variance = float(shares @ np.square(near - centre).sum(axis=1))
    costs: NDArray[np.float64] = np.square(points - centre).sum(axis=1) + variance
    return costs


def as_clips(frames: Array, encoder: LazyEncoder, ground: GroundMetric) -> Array:
    """The vector of each frame, as if a whole clip sounded like it, in the space of the metric."""
    network, one = encoder.get(), torch.ones(1)
    pooled = [network.pool([Encoding(frame[None], one)]) for frame in torch.from_numpy(frames)]
    return ground.adapt_vectors(torch.stack(pooled).numpy())


class Labeller:
    """AudioSet labels of clips by YAMNet's classifier; scores are cached in the store."""

    def __init__(self, encoder: LazyEncoder, store: EmbeddingStore) -> None:
        spec = get_spec("yamnet")
        self._is_yamnet = encoder.spec.fingerprint == spec.fingerprint
        self._encoder = encoder if self._is_yamnet else LazyEncoder(spec)
        self._store = store

    @property
    def available(self) -> bool:
        """Whether YAMNet's weights are on this machine; a report does not download them."""
        spec = self._encoder.spec
        return self._is_yamnet or weights.find_converted(spec.name, spec.weights) is not None

    def labels(self, clip: ClipFile) -> list[tuple[str, float]]:
        """The best labels of a clip with their scores, the mean over its frames."""
        scores = self._scores(clip)
        best = np.argsort(-scores, kind="stable")[:LABELS_SHOWN]
        names = self._network().class_names
        return [(names[i], float(scores[i])) for i in best if scores[i] >= _LEAST_SCORE]

    def _scores(self, clip: ClipFile) -> Array:
        fingerprint = self._encoder.spec.fingerprint
        stored = self._store.get(clip.digest, fingerprint, "labels")
        if stored is not None and stored.values.shape == (len(self._network().class_names),):
            return stored.values
        frames = torch.from_numpy(frames_of(clip, self._encoder, self._store))
        scores: Array = self._network().class_scores(frames).mean(dim=0).cpu().numpy()
        frames_stored = self._store.get(clip.digest, fingerprint, "timeline")
        if frames_stored is not None:
            labelled = StoredClip(scores, frames_stored.audit)
            self._store.put(clip.digest, fingerprint, labelled, "labels")
        return scores

    def _network(self) -> YamnetEncoder:
        network = self._encoder.get()
        if not isinstance(network, YamnetEncoder):
            raise OtadtkError("AudioSet labels need the YAMNet encoder.")
        return network
