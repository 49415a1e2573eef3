"""EncoderSpec, the facts known before weights load, and Encoder, the interface of a loaded network."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from otadtk.audio.reading import Reading
from otadtk.errors import UsageError
from otadtk.weights import WeightFile

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    Waveforms = Sequence[torch.Tensor | NDArray[np.floating]]
    """Each ``(samples,)`` or ``(channels, samples)``."""

BATCH_SECONDS = 60.0
"""How much audio is collected before the network is called."""


@dataclass(frozen=True)
class EncoderSpec:
    """Everything known about an encoder before a weight is read.

    ``loader`` names the function that builds it, ``"package.module:function"``; it is called as
    ``load(spec, device, user_copy)``, the last being the path of the user's copy of the weights.

    A clip becomes segments so: ``lead_samples`` zeros are put before it; a clip shorter than
    ``minimum_samples`` is padded with zeros; one longer than ``segment_samples`` is cut into
    segments that overlap by ``overlap_samples``, which bounds memory (``None``: the whole clip at
    once). The remainder after the last whole segment is one more segment if it has at least
    ``shortest_tail_samples``, and is dropped otherwise. ``frame_seconds`` is the step between two
    frames, where frames have a fixed one.
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
    citation: str = ""
    """BibTeX of the paper."""
    commercial_use: bool = True
    weights: tuple[WeightFile, ...] = ()
    same_weights_as: str = ""
    """The encoder whose network and weights it shares; both use one file on this machine."""
    lead_samples: int = 0
    minimum_samples: int = 1
    segment_samples: int | None = None
    overlap_samples: int = 0
    shortest_tail_samples: int = 1
    frame_seconds: float | None = None
    unit_norm: bool = False
    compared_with_original: bool = False
    """Whether it was compared with its original under the published weights: docs/evidence/encoders.md."""
    published_scores: str = ""
    """Its name among the scores that fadtk publishes, for ``otadtk-list-models --verify``."""
    reading: Reading = Reading()  # noqa: RUF009 - it is frozen
    """How files become the signal; ``preprocessing`` says so too where it is unusual."""
    classes: int = 0
    """How many classes its classifier tells apart; 0 without one."""
    layers: tuple[tuple[str, int], ...] = ()
    """Name and number of channels of the intermediate layers that the network can show."""
    identity: str = field(default="", compare=False)
    """Extra text for the fingerprint of encoders without published weights, as custom classes."""
    inner: EncoderSpec | None = None
    """The model that this one wraps, if it wraps one."""
    measurement: str = ""
    """Where the weight-free features are that this model puts beside the vectors inside."""
    custom_class: type | None = field(default=None, compare=False, repr=False)
    """The class of a custom encoder."""

    @property
    def weights_name(self) -> str:
        """The name under which its weights are kept."""
        return self.same_weights_as or self.name

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


def with_reading(spec: EncoderSpec, reading: Reading) -> EncoderSpec:
    """The encoder on files that are read in another way."""
    if reading.usual:
        return spec
    changed = replace(
        spec, reading=reading, preprocessing=f"{spec.preprocessing}; read: {reading.describe()}"
    )
    if reading.step_seconds is not None and spec.segment_samples is not None:
        step = round(reading.step_seconds * spec.sample_rate)
        changed = replace(changed, overlap_samples=spec.segment_samples - step)
    if not reading.whole:
        return changed
    return replace(changed, minimum_samples=1, segment_samples=None, overlap_samples=0)


@dataclass(frozen=True)
class Encoding:
    """The frames ``(n, d)`` of one segment and their weights ``(n,)`` in the clip vector."""

    frames: torch.Tensor
    weights: torch.Tensor
    classified: torch.Tensor | None = None
    """What the classifier sees of each frame, where that is not the frame itself."""


@dataclass(frozen=True)
class LayeredEncoding:
    """An encoding, and the moments of intermediate layers behind each of its frames.

    ``means`` and ``squares`` ``(n, channels)`` are the mean and the mean square of every channel
    of the layers ``spec.layers``, over the time and the frequencies of the frame.
    """

    encoding: Encoding
    means: torch.Tensor
    squares: torch.Tensor


class Encoder(ABC):
    """A loaded network. Subclasses define ``encode_segments``; few need another ``pool``."""

    def __init__(self, spec: EncoderSpec, device: torch.device) -> None:
        self.spec = spec
        self.device = device

    @abstractmethod
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Encodings of 1-D float32 waveforms at ``spec.sample_rate``; none depends on the others."""

    def encode_layers(self, segments: Sequence[torch.Tensor]) -> list[LayeredEncoding]:
        """The same with the moments of ``spec.layers``; networks that name layers write it."""
        raise UsageError(f"{self.spec.name!r} does not show its intermediate layers.")

    def padding(self, lengths: Sequence[int]) -> float:
        """The share of the network's work that is padding if segments of these lengths are encoded.

        Only networks with batches of a fixed size write it: a few more segments may cost nothing.
        """
        return 0.0

    def pool(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        """The clip vector ``(d,)`` of the segments of one clip."""
        from otadtk.encoders.pooling import weighted_mean

        return weighted_mean(encodings, unit_norm=self.spec.unit_norm)

    def class_logits(self, seen: torch.Tensor) -> torch.Tensor:
        """Logits ``(n, classes)`` of what the classifier sees of n frames."""
        raise UsageError(f"{self.spec.name!r} has no classifier.")

    @final
    def pool_classes(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        """The logits ``(classes,)`` of one clip: their mean over its frames, by their weights."""
        import torch

        from otadtk.encoders.pooling import join, weighted_mean

        clip = join(encodings)
        seen = clip.frames if clip.classified is None else clip.classified
        with torch.inference_mode():
            logits = self.class_logits(seen.to(self.device))
        return weighted_mean([Encoding(logits, clip.weights)], unit_norm=False)

    @final
    def encode(self, wav: torch.Tensor | NDArray[np.floating], sr: int) -> NDArray[np.float32]:
        """The clip vector ``(d,)`` of one waveform, ``(samples,)`` or ``(channels, samples)``.

        >>> import numpy as np
        >>> from otadtk import get_encoder
        >>> get_encoder("logmel").encode(np.zeros(16000, dtype=np.float32), 16000).shape
        (128,)
        """
        vector: NDArray[np.float32] = self.encode_batch([wav], sr)[0]
        return vector

    @final
    def encode_batch(self, wavs: Waveforms, sr: int) -> NDArray[np.float32]:
        """The clip vectors ``(n, d)`` of several waveforms, which the network takes together."""
        import numpy as np

        return np.stack([self.pool(clip).numpy() for clip in self._encodings(wavs, sr)])

    @final
    def classify(self, wav: torch.Tensor | NDArray[np.floating], sr: int) -> NDArray[np.float32]:
        """The logits ``(classes,)`` of one waveform, if the encoder has a classifier."""
        logits: NDArray[np.float32] = self.classify_batch([wav], sr)[0]
        return logits

    @final
    def classify_batch(self, wavs: Waveforms, sr: int) -> NDArray[np.float32]:
        """The logits ``(n, classes)`` of several waveforms."""
        import numpy as np

        return np.stack([self.pool_classes(clip).numpy() for clip in self._encodings(wavs, sr)])

    @final
    def encode_frames(
        self, wav: torch.Tensor | NDArray[np.floating], sr: int
    ) -> NDArray[np.float32]:
        """The frames ``(n, d)`` behind the clip vector of one waveform, in order of time."""
        from otadtk.encoders.pooling import join

        frames: NDArray[np.float32] = join(self._encodings([wav], sr)[0]).frames.cpu().numpy()
        return frames

    def _encodings(self, wavs: Waveforms, sr: int) -> list[list[Encoding]]:
        """The encodings of the segments of each waveform, computed in batches of a minute."""
        import numpy as np
        import torch

        from otadtk.encoders.pooling import split

        found: list[list[Encoding]] = [[] for _ in wavs]
        batch: list[tuple[int, torch.Tensor]] = []

        def encode() -> None:
            encodings = self.encode_segments([segment for _, segment in batch])
            for (clip, _), encoding in zip(batch, encodings, strict=True):
                found[clip].append(encoding)
            batch.clear()

        for clip, wav in enumerate(wavs):
            samples = np.asarray(wav, dtype=np.float32)
            samples = samples.mean(axis=0) if samples.ndim == 2 else samples
            if sr != self.spec.sample_rate:
                import soxr

                samples = soxr.resample(samples, sr, self.spec.sample_rate, quality="HQ")
            batch += [(clip, torch.from_numpy(segment)) for segment in split([samples], self.spec)]
            if sum(len(segment) for _, segment in batch) >= BATCH_SECONDS * self.spec.sample_rate:
                encode()
        if batch:
            encode()
        return found
