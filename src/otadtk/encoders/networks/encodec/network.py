"""EnCodec at 24 kHz: the encoder of a neural audio codec (Défossez et al., TMLR 2023).

A causal convolutional network (SEANet) with a two-layer LSTM turns 320 samples into one frame of
128 numbers, 75 a second. The clip vector is the mean of the frames before they are quantised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.checkpoints.matching import WEIGHT_NORM_NAMES, fold_weight_norms, load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

HOP = 320
LEAST_SAMPLES = 8 * HOP
"""More than any convolution mirrors at the start."""
_FILTERS, _FRAME_DIM = 32, 128
_STRIDES = (2, 4, 5, 8)


class CausalConvolution(nn.Module):
    """A convolution that looks back only; what precedes the start is the start, mirrored."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(inputs, outputs, kernel, stride))
        self._back, self._stride = kernel - stride, stride

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(n, inputs, t)`` -> ``(n, outputs, ⌈t / stride⌉)``."""
        fill = -x.shape[-1] % self._stride  # the last step is whole
        if self._back or fill:
            x = functional.pad(x, (self._back, fill), mode="reflect")
        out: torch.Tensor = self.conv(x)
        return out


class ResidualBlock(nn.Module):
    """A bottleneck of two convolutions beside a 1×1 convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.ELU(),
            CausalConvolution(channels, channels // 2, 3),
            nn.ELU(),
            CausalConvolution(channels // 2, channels, 1),
        )
        self.shortcut = CausalConvolution(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Values of the same shape."""
        out: torch.Tensor = self.shortcut(x) + self.block(x)
        return out


class ResidualLstm(nn.Module):
    """A two-layer LSTM over time, added to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(channels, channels, num_layers=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Values of the same shape ``(n, channels, t)``."""
        steps = x.permute(2, 0, 1)
        return (self.lstm(steps)[0] + steps).permute(1, 2, 0)  # type: ignore[no-any-return]


class EncodecNetwork(nn.Module):
    """The SEANet encoder: waveforms ``(n, samples)`` -> frames ``(n, ⌈samples / 320⌉, 128)``."""

    def __init__(self) -> None:
        super().__init__()
        channels = _FILTERS
        layers: list[nn.Module] = [CausalConvolution(1, channels, 7)]
        for stride in _STRIDES:
            layers += [
                ResidualBlock(channels),
                nn.ELU(),
                CausalConvolution(channels, 2 * channels, 2 * stride, stride),
            ]
            channels *= 2
        layers += [ResidualLstm(channels), nn.ELU(), CausalConvolution(channels, _FRAME_DIM, 7)]
        self.model = nn.Sequential(*layers)

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """The frames before quantisation."""
        frames: torch.Tensor = self.model(waveforms[:, None]).transpose(1, 2)
        return frames


class EncodecEncoder(Encoder):
    """EnCodec as an encoder: 75 frames a second."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: EncodecNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Frames of each segment; segments of one length share batches."""
        counts = [-(-len(segment) // HOP) for segment in segments]
        waveforms = [
            functional.pad(segment.to(self.device), (0, max(0, LEAST_SAMPLES - len(segment))))
            for segment in segments
        ]
        frames = by_shape(self.network, waveforms)
        return [
            Encoding(f[:count], torch.ones(count)) for f, count in zip(frames, counts, strict=True)
        ]


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> EncodecEncoder:
    """EnCodec's encoder with its published weights; decoder and quantiser are left out."""
    network = load_network(
        spec,
        user_copy,
        EncodecNetwork,
        names=_published_name,
        left_out=(r"decoder\..*", r"quantizer\..*"),
        also_named=WEIGHT_NORM_NAMES,
    )
    fold_weight_norms(network)
    return EncodecEncoder(spec, device, network)


def _published_name(ours: str) -> str:
    for newer, older in WEIGHT_NORM_NAMES.items():
        ours = re.sub(newer, older, ours)
    return f"encoder.{ours.replace('.conv.', '.conv.conv.')}"
