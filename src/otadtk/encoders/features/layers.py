"""``<model>+layers``: an encoder whose vectors are followed by statistics of intermediate layers.

What a network is asked to name decides its last layer; how a sound is made is still there in the
middle ones. Of every channel the logarithms of its mean and of its deviation over time and
frequency are kept. Frames and clips have the same coordinates: a clip of one frame is that frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from otadtk.encoders.loading import load_encoder
from otadtk.encoders.pooling import join
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import UsageError

SUFFIX = "+layers"
VERSION = "layers/1"
_OFFSET = 0.02
"""Added before the logarithm: a channel that is silent in one clip and hardly there in another
should not tell them apart. Usual means are 0.1 to 1."""


def with_layers(spec: EncoderSpec) -> EncoderSpec:
    """The model that gives the vectors of ``spec`` with the statistics of its layers behind them."""
    if not spec.layers:
        raise UsageError(
            f"{spec.name!r} names no intermediate layers: {SUFFIX} is for models that do, "
            "such as yamnet, and stands directly behind their name."
        )
    names = ", ".join(name for name, _ in spec.layers)
    return replace(
        spec,
        name=spec.name + SUFFIX,
        summary=f"{spec.name} with statistics of its intermediate layers beside it",
        loader="otadtk.encoders.features.layers:load",
        dim=spec.dim + 2 * channels_of(spec),
        preprocessing=f"{spec.preprocessing}; {VERSION}: {names}",
        layers=(),
        inner=spec,
    )


def channels_of(spec: EncoderSpec) -> int:
    """How many channels the layers of a model have together."""
    return sum(count for _, count in spec.layers)


class LayersEncoder(Encoder):
    """Wraps an encoder; its frames are followed by log means, then log deviations, of channels."""

    def __init__(self, spec: EncoderSpec, inner: Encoder) -> None:
        super().__init__(spec, inner.device)
        self.inner = inner

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """The inner frames with the statistics of the layers behind each."""
        found = []
        for layered in self.inner.encode_layers(segments):
            frames, weights = layered.encoding.frames.cpu(), layered.encoding.weights.cpu()
            statistics = _logarithms(layered.means.cpu().double(), layered.squares.cpu().double())
            found.append(Encoding(torch.cat([frames, statistics], dim=1), weights))
        return found

    def padding(self, lengths: Sequence[int]) -> float:
        """That of the inner network."""
        return self.inner.padding(lengths)

    def pool(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        """The inner clip vector, then the statistics over all frames that count."""
        width = self.inner.spec.dim
        inner = [Encoding(e.frames[:, :width], e.weights) for e in encodings]
        clip = join(encodings)
        share = clip.weights.double()
        share = share if share.sum() > 0 else torch.ones_like(share)
        share = share / share.sum()
        means, deviations = (clip.frames[:, width:].double().exp() - _OFFSET).chunk(2, dim=1)
        mean = share @ means
        # mean square of the clip: E[x²] = E[deviation² + mean²] over the frames
        square = share @ (deviations.square() + means.square())
        return torch.cat([self.inner.pool(inner), _logarithms(mean, square)])


def _logarithms(means: torch.Tensor, squares: torch.Tensor) -> torch.Tensor:
    """log(mean + 0.02) and log(deviation + 0.02) of channels, side by side."""
    deviations = (squares - means.square()).clamp_min(0.0).sqrt()
    return torch.cat([means + _OFFSET, deviations + _OFFSET], dim=-1).log().float()


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Encoder:
    """The wrapped encoder with its weights, and the statistics of its layers."""
    assert spec.inner is not None, f"the spec {spec.name!r} wraps nothing"
    return LayersEncoder(spec, load_encoder(spec.inner, device, user_copy))
