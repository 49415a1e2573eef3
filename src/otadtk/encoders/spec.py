"""What an encoder is: the facts known before its weights load, and the contract of the loaded network."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from otadtk.weights import WeightFile

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


@dataclass(frozen=True)
class EncoderSpec:
    """Everything known about an encoder before a weight is read.

    ``loader`` names the function that builds it, ``"package.module:function"``; it is called as
    ``load(spec, device, weights)``.

    How a clip of any length becomes segments: ``lead_samples`` zeros go before it; a clip shorter
    than ``minimum_samples`` gets zeros behind it; one longer than ``segment_samples`` is cut into
    segments that overlap by ``overlap_samples``, so that memory stays bounded (``None``: the whole
    clip at once). What remains after the last whole segment is a segment of its own if it has
    ``shortest_tail_samples`` or more, and is dropped otherwise. ``frame_seconds`` is the step
    between two frames, where frames have one.
    """

    name: str
    summary: str
    loader: str
    sample_rate: int
    dim: int
    preprocessing: str
    licence: str
    paper: str
    training_data: str
    commercial_use: bool = True
    weights: tuple[WeightFile, ...] = ()
    lead_samples: int = 0
    minimum_samples: int = 1
    segment_samples: int | None = None
    overlap_samples: int = 0
    shortest_tail_samples: int = 1
    frame_seconds: float | None = None
    unit_norm: bool = False
    identity: str = field(default="", compare=False)
    """Extra text for the fingerprint of encoders that have no pinned weights (one's own classes)."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides an embedding: it keys the store and is written into adapters."""
        facts = {
            "name": self.name,
            "sample_rate": self.sample_rate,
            "preprocessing": self.preprocessing,
            "weights": [file.digest for file in self.weights],
            "identity": self.identity,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Encoding:
    """What a network says of one segment: its frames ``(n, d)`` and how much each counts ``(n,)``."""

    frames: torch.Tensor
    weights: torch.Tensor


class Encoder(ABC):
    """A loaded network. Subclasses write ``encode_segments``; few need another ``pool``."""

    def __init__(self, spec: EncoderSpec, device: torch.device) -> None:
        self.spec = spec
        self.device = device

    @abstractmethod
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Encodings of 1-D float32 waveforms at ``spec.sample_rate``, each as if it came alone."""

    def pool(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        """The clip vector ``(d,)`` of the segments of one clip."""
        from otadtk.encoders.pooling import weighted_mean

        return weighted_mean(encodings, unit_norm=self.spec.unit_norm)

    @final
    def encode(self, wav: torch.Tensor | NDArray[np.floating], sr: int) -> NDArray[np.float32]:
        """The clip vector ``(d,)`` of one waveform, ``(samples,)`` or ``(channels, samples)``.

        >>> import numpy as np
        >>> from otadtk import get_encoder
        >>> get_encoder("logmel").encode(np.zeros(16000, dtype=np.float32), 16000).shape
        (128,)
        """
        import numpy as np
        import torch

        from otadtk.encoders.pooling import split

        samples = np.asarray(wav, dtype=np.float32)
        samples = samples.mean(axis=0) if samples.ndim == 2 else samples
        if sr != self.spec.sample_rate:
            import soxr

            samples = soxr.resample(samples, sr, self.spec.sample_rate, quality="HQ")
        segments = [torch.from_numpy(s) for s in split([samples], self.spec)]
        vector: NDArray[np.float32] = self.pool(self.encode_segments(segments)).numpy()
        return vector
