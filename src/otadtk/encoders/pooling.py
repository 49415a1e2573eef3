"""From a clip to segments, and from the frames of its segments to the one vector of the clip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.encoders.spec import EncoderSpec, Encoding


def split(
    blocks: Iterable[NDArray[np.float32]], spec: EncoderSpec
) -> Iterator[NDArray[np.float32]]:
    """Segments of a clip that arrives in blocks; the clip is never held whole.

    Segment k starts at k · (length − overlap). A remainder that lies inside the overlap has been
    heard already and gives no segment of its own, nor does one below the spec's shortest tail.
    Only a clip that is short as a whole is padded here: the tail of a long one reaches the network
    as it is, so that the network can weigh it by its true length.
    """
    length, overlap = spec.segment_samples, spec.overlap_samples
    pending: list[NDArray[np.float32]] = [np.zeros(spec.lead_samples, dtype=np.float32)]
    held = spec.lead_samples
    emitted = False
    for block in blocks:
        pending.append(block)
        held += len(block)
        while length is not None and held >= length:
            joined = np.concatenate(pending)
            yield joined[:length]
            emitted = True
            pending, held = [joined[length - overlap :]], held - length + overlap
    tail = np.concatenate(pending)
    if not emitted:
        missing = spec.lead_samples + spec.minimum_samples - len(tail)
        yield np.pad(tail, (0, missing)) if missing > 0 else tail
    elif held > overlap and held >= spec.shortest_tail_samples:
        yield tail


def join(encodings: Sequence[Encoding]) -> Encoding:
    """The frames of all segments of one clip, in order."""
    if len(encodings) == 1:
        return encodings[0]
    return Encoding(
        torch.cat([e.frames for e in encodings]), torch.cat([e.weights for e in encodings])
    )


def weighted_mean(encodings: Sequence[Encoding], *, unit_norm: bool) -> torch.Tensor:
    """The mean ``(d,)`` of all frames by their weights, L2-normalised if asked for.

    Frames that all have weight 0 (a clip of digital silence) count alike.
    """
    clip = join(encodings)
    frames, weights = clip.frames.cpu().double(), clip.weights.cpu().double()
    if weights.sum() == 0:
        weights = torch.ones_like(weights)
    vector = (weights / weights.sum()) @ frames
    if unit_norm:
        vector = vector / vector.norm().clamp_min(1e-12)
    return vector.float()
