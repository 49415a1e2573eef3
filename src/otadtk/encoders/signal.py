"""``<model>+signal``: an encoder whose clip vectors are followed by weight-free signal features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from otadtk.encoders import signal_features
from otadtk.encoders.pooling import join
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

SUFFIX = "+signal"
SIGNAL = EncoderSpec(
    name="signal",
    summary="weight-free signal features alone",
    loader="",
    sample_rate=16_000,
    dim=signal_features.COUNT,
    preprocessing=signal_features.VERSION,
    licence="Apache-2.0",
    paper="none",
    training_data="none",
)
"""What keys stored signal features; it is no encoder of its own."""
companions: dict[str, EncoderSpec] = {}
"""Specs of the encoders inside, by the fingerprint of the whole."""


def with_signal(spec: EncoderSpec) -> EncoderSpec:
    """The model that gives the vectors of ``spec`` with the signal features behind them."""
    if spec.name.endswith(SUFFIX):
        return spec
    whole = replace(
        spec,
        name=spec.name + SUFFIX,
        summary=f"{spec.name} with signal features beside it",
        loader="otadtk.encoders.signal:load",
        dim=spec.dim + signal_features.COUNT,
        preprocessing=f"{spec.preprocessing}; {signal_features.VERSION}",
        identity=spec.identity,
    )
    companions[whole.fingerprint] = spec
    return whole


def inner_spec(spec: EncoderSpec) -> EncoderSpec | None:
    """The encoder inside a model with signal features; ``None`` for any other."""
    return companions.get(spec.fingerprint)


class SignalEncoder(Encoder):
    """Wraps an encoder; the features of a segment stand behind each of its frames."""

    def __init__(self, spec: EncoderSpec, inner: Encoder) -> None:
        super().__init__(spec, inner.device)
        self.inner = inner

    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """The inner frames with the features of their segment."""
        found = []
        for segment, encoding in zip(segments, self.inner.encode_segments(segments), strict=True):
            measured = torch.from_numpy(
                signal_features.signal_features(segment.cpu().numpy(), self.spec.sample_rate)
            )
            frames = encoding.frames.cpu()
            beside = measured.expand(len(frames), -1)
            found.append(Encoding(torch.cat([frames, beside], dim=1), encoding.weights.cpu()))
        return found

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


def load(spec: EncoderSpec, device: torch.device, own: Path | None = None) -> Encoder:
    """The encoder inside, with its weights, wrapped."""
    from otadtk.encoders import load_encoder

    return SignalEncoder(spec, load_encoder(companions[spec.fingerprint], device, own))
