"""Cuts a clip into segments, and pools the frames of its segments to one vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.encoders.spec import EncoderSpec, Encoding


class Segmenter:
    """Cuts a clip that arrives in blocks into segments; the clip is never held whole.

    Segment k starts at k · (length − overlap). A remainder inside the overlap is part of the last
    segment already and gives no further one, nor does a remainder below the spec's shortest tail.
    Only a clip shorter than the minimum is padded here. The tail of a long clip reaches the network
    as it is, so that the network can weight it by its true length.
    """

    def __init__(self, spec: EncoderSpec) -> None:
        self._spec = spec
        self._pending = [np.zeros(spec.lead_samples, dtype=np.float32)]
        self._held = spec.lead_samples
        self._emitted = False

    def feed(self, block: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """The segments that this block completes."""
        length, overlap = self._spec.segment_samples, self._spec.overlap_samples
        self._pending.append(block)
        self._held += len(block)
        while length is not None and self._held >= length:
            joined = np.concatenate(self._pending)
            yield joined[:length]
            self._emitted = True
            self._pending, self._held = [joined[length - overlap :]], self._held - length + overlap

    def finish(self) -> Iterator[NDArray[np.float32]]:
        """The last segment, if what remains is one."""
        spec, tail = self._spec, np.concatenate(self._pending)
        if not self._emitted:
            missing = spec.lead_samples + spec.minimum_samples - len(tail)
            yield np.pad(tail, (0, missing)) if missing > 0 else tail
        elif len(tail) > spec.overlap_samples and len(tail) >= spec.shortest_tail_samples:
            yield tail


def split(
    blocks: Iterable[NDArray[np.float32]], spec: EncoderSpec
) -> Iterator[NDArray[np.float32]]:
    """The segments of a clip that arrives in blocks."""
    segmenter = Segmenter(spec)
    for block in blocks:
        yield from segmenter.feed(block)
    yield from segmenter.finish()


def join(encodings: Sequence[Encoding]) -> Encoding:
    """The frames of all segments of one clip, in order."""
    if len(encodings) == 1:
        return encodings[0]
    seen = [e.classified for e in encodings if e.classified is not None]
    return Encoding(
        torch.cat([e.frames for e in encodings]),
        torch.cat([e.weights for e in encodings]),
        torch.cat(seen) if seen else None,
    )


def weighted_mean(encodings: Sequence[Encoding], *, unit_norm: bool) -> torch.Tensor:
    """The mean ``(d,)`` of all frames by their weights, L2-normalised if asked for.

    Frames that all have weight 0 (a clip of digital silence) are weighted equally.
    """
    clip = join(encodings)
    frames, weights = clip.frames.cpu().double(), clip.weights.cpu().double()
    if weights.sum() == 0:
        weights = torch.ones_like(weights)
    vector = (weights / weights.sum()) @ frames
    if unit_norm:
        vector = vector / vector.norm().clamp_min(1e-12)
    return vector.float()
