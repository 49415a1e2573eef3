"""Weight-free measurements beside the vectors of any model: what ``+signal`` and its like share.

Each suffix wraps the model before it. The vector of the model inside comes first, unchanged; the
measurements of the segment stand behind each of its frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.encoders.loading import load_encoder
from otadtk.encoders.named_object import load_object
from otadtk.encoders.pooling import join
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import UsageError

Measure = Callable[[NDArray[np.float32], int], NDArray[np.float32]]
_LOADER = "otadtk.encoders.features.measured:load"


@dataclass(frozen=True)
class Measurement:
    """A set of weight-free features: how many, how they are measured, and at which rate."""

    name: str
    version: str
    count: int
    measure: Measure
    rate: int | None = None
    """The rate at which it reads audio; ``None`` for that of the model inside."""

    @property
    def suffix(self) -> str:
        """What is written behind the name of a model."""
        return f"+{self.name}"

    @property
    def spec(self) -> EncoderSpec:
        """The key of these features in the store; nothing loads it as an encoder."""
        return EncoderSpec(
            name=self.name,
            summary=f"weight-free {self.name} features alone",
            loader="",
            sample_rate=self.rate or 16_000,
            dim=self.count,
            preprocessing=self.version,
            licence="Apache-2.0",
            paper="none",
            training_data="none",
        )


def with_measurement(spec: EncoderSpec, measurement: Measurement, place: str) -> EncoderSpec:
    """The model with a measurement behind its vectors; ``place`` is where the loader finds it."""
    if spec.name.endswith(measurement.suffix):
        return spec
    rate = measurement.rate or spec.sample_rate
    if rate % spec.sample_rate:
        raise UsageError(
            f"{measurement.suffix} reads audio at {rate} Hz, which is no multiple of the "
            f"{spec.sample_rate} Hz of {spec.name!r}."
        )
    times = rate // spec.sample_rate
    return replace(
        spec,
        name=spec.name + measurement.suffix,
        summary=f"{spec.name} with {measurement.name} features beside it",
        loader=_LOADER,
        sample_rate=rate,
        dim=spec.dim + measurement.count,
        preprocessing=f"{spec.preprocessing}; {measurement.version}",
        lead_samples=times * spec.lead_samples,
        minimum_samples=times * spec.minimum_samples,
        segment_samples=None if spec.segment_samples is None else times * spec.segment_samples,
        overlap_samples=times * spec.overlap_samples,
        shortest_tail_samples=times * spec.shortest_tail_samples,
        layers=(),
        inner=spec,
        measurement=place,
    )


def measurement_of(spec: EncoderSpec) -> Measurement | None:
    """The measurement that a model puts behind the vectors inside, if it does."""
    if not spec.measurement:
        return None
    found: Measurement = load_object(spec.measurement)
    return found


def network_spec(spec: EncoderSpec) -> EncoderSpec:
    """The plain network inside a model with features beside it; any other model itself."""
    while spec.inner is not None and (spec.measurement or spec.name.endswith("+layers")):
        spec = spec.inner
    return spec


def parts_of(spec: EncoderSpec) -> list[tuple[EncoderSpec, Measurement | None]]:
    """What a vector consists of: the part that a network gives, then every measurement.

    Each part has a spec of its own, under which the store keeps it.
    """
    measurement = measurement_of(spec)
    if measurement is None or spec.inner is None:
        return [(spec, None)]
    return [*parts_of(spec.inner), (measurement.spec, measurement)]


class MeasuredEncoder(Encoder):
    """Wraps an encoder; the features of a segment follow each of its frames."""

    def __init__(self, spec: EncoderSpec, inner: Encoder, measurement: Measurement) -> None:
        super().__init__(spec, inner.device)
        self.inner = inner
        self._measurement = measurement

    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """The inner frames with the features of their segment."""
        found = []
        heard = [self._as_inside(segment) for segment in segments]
        for segment, encoding in zip(segments, self.inner.encode_segments(heard), strict=True):
            measured = torch.from_numpy(
                self._measurement.measure(segment.cpu().numpy(), self.spec.sample_rate)
            )
            frames = encoding.frames.cpu()
            beside = measured.expand(len(frames), -1)
            found.append(Encoding(torch.cat([frames, beside], dim=1), encoding.weights.cpu()))
        return found

    def padding(self, lengths: Sequence[int]) -> float:
        """That of the network inside, at its rate."""
        times = self.spec.sample_rate // self.inner.spec.sample_rate
        return self.inner.padding([length // times for length in lengths])

    def pool(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        """The inner clip vector, then the mean of the features over the segments."""
        width = self.inner.spec.dim
        inner = [Encoding(e.frames[:, :width], e.weights) for e in encodings]
        clip = join(encodings)
        weights = clip.weights.double()
        if weights.sum() == 0:
            weights = torch.ones_like(weights)
        features = (weights / weights.sum()) @ clip.frames[:, width:].double()
        return torch.cat([self.inner.pool(inner), features.float()])

    def _as_inside(self, segment: torch.Tensor) -> torch.Tensor:
        """The segment at the rate of the model inside."""
        rate, inside = self.spec.sample_rate, self.inner.spec.sample_rate
        if rate == inside:
            return segment
        import soxr

        return torch.from_numpy(soxr.resample(segment.cpu().numpy(), rate, inside, quality="HQ"))


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Encoder:
    """The wrapped encoder with its weights, and the features beside its vectors."""
    measurement = measurement_of(spec)
    assert spec.inner is not None, f"the spec {spec.name!r} wraps nothing"
    assert measurement is not None, f"the spec {spec.name!r} measures nothing"
    return MeasuredEncoder(spec, load_encoder(spec.inner, device, user_copy), measurement)
