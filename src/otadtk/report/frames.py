"""What the frames behind a clip say: its AudioSet labels, and the cost along its time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk import weights
from otadtk.adapter.network import Adapter
from otadtk.audio import AudioReader
from otadtk.embed import LazyEncoder
from otadtk.encoders import get_spec
from otadtk.encoders.pooling import join, split
from otadtk.encoders.spec import Encoding
from otadtk.encoders.yamnet import YamnetEncoder
from otadtk.engine import default_workers
from otadtk.errors import OtadtkError
from otadtk.store import EmbeddingStore, StoredClip

logger = logging.getLogger(__name__)

Array = NDArray[np.float32]
Item = TypeVar("Item")
Result = TypeVar("Result")

LABELS_SHOWN = 3
_NO_SHARE = 1e-12
"""A share of a clip's mass that changes no digit of its cost."""
_LEAST_SCORE = 0.05
"""Labels below this score are noise."""


@dataclass(frozen=True)
class ClipFile:
    """An audio file and the hash of its bytes."""

    path: Path
    digest: str


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results in order, by several threads that compute with one torch thread each."""
    with ThreadPoolExecutor(
        default_workers(), initializer=lambda: torch.set_num_threads(1)
    ) as pool:
        return list(pool.map(function, items))


def frames_of(clip: ClipFile, encoder: LazyEncoder, store: EmbeddingStore) -> Array:
    """All frames ``(n, d)`` of a clip in order of time, from the store where it has them.

    The store's "frames" leave out what does not count, and with it the time of the others.
    """
    spec = encoder.spec
    stored = store.get(clip.digest, spec.fingerprint, "timeline")
    if stored is not None and stored.values.ndim == 2 and stored.values.shape[1] == spec.dim:
        return stored.values
    reader = AudioReader(clip.path, spec.sample_rate)
    segments = [torch.from_numpy(np.ascontiguousarray(s)) for s in split(reader, spec)]
    frames = join(encoder.get().encode_segments(segments)).frames.cpu().float().numpy()
    store.put(clip.digest, spec.fingerprint, StoredClip(frames, reader.audit), "timeline")
    return frames


def cost_along_time(
    points: Array, reference: Array, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The cost ``(n,)`` of each point y_t to a clip's partners: Σ_i share_i ‖x_i − y_t‖².

    With b = Σ_i share_i x_i that is ‖y_t − b‖² + Σ_i share_i ‖x_i − b‖².
    """
    partners = shares > _NO_SHARE
    shares, near = shares[partners], reference[partners].astype(np.float64)
    centre = shares @ near
    spread = float(shares @ np.square(near - centre).sum(axis=1))
    costs: NDArray[np.float64] = np.square(points - centre).sum(axis=1) + spread
    return costs


def as_clips(frames: Array, encoder: LazyEncoder, adapter: Adapter | None) -> Array:
    """Each frame as the clip that sounds like it throughout, in the space of the metric."""
    network, one = encoder.get(), torch.ones(1)
    pooled = [network.pool([Encoding(frame[None], one)]) for frame in torch.from_numpy(frames)]
    return adapted(torch.stack(pooled).numpy(), adapter)


def adapted(vectors: Array, adapter: Adapter | None) -> Array:
    """Clip vectors in the space of the metric: through the adapter, where there is one."""
    if adapter is None:
        return vectors
    place = next(adapter.parameters()).device
    with torch.inference_mode():
        moved: Array = adapter.eval()(torch.from_numpy(vectors).float().to(place)).cpu().numpy()
    return moved


class Labeller:
    """AudioSet labels of clips by YAMNet's own classifier; scores are kept in the store."""

    def __init__(self, encoder: LazyEncoder, store: EmbeddingStore) -> None:
        spec = get_spec("yamnet")
        self._own = encoder.spec.fingerprint == spec.fingerprint
        self._encoder = encoder if self._own else LazyEncoder(spec)
        self._store = store

    @property
    def available(self) -> bool:
        """Whether the weights are on this machine: a report of another model fetches none."""
        spec = self._encoder.spec
        return self._own or weights.find_converted(spec.name, spec.weights) is not None

    def labels(self, clip: ClipFile) -> list[tuple[str, float]]:
        """The highest labels of a clip with their scores, the mean over its patches."""
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
        audit = self._store.get(clip.digest, fingerprint, "timeline")
        if audit is not None:
            self._store.put(clip.digest, fingerprint, StoredClip(scores, audit.audit), "labels")
        return scores

    def _network(self) -> YamnetEncoder:
        network = self._encoder.get()
        if not isinstance(network, YamnetEncoder):
            raise OtadtkError("AudioSet labels need YAMNet itself.")
        return network
