"""PANNs: 14-layer convolutional networks trained on AudioSet (Kong et al., IEEE/ACM TASLP 2020).

Three of the family, with a 2048-d embedding taken after the last hidden layer's ReLU:

- CNN14 at 32 kHz, or in a version at 16 kHz, sees the log-mel spectrogram as an image: six blocks of
  two 3×3 convolutions, each block but the last halving time and frequency.
- Wavegram-Logmel-CNN14 at 32 kHz learns a second image, the wavegram, from the waveform itself, and
  lays it beside the output of the first block as 64 more channels.

All average over frequency and add the maximum and the mean over time. That maximum makes the
embedding depend on everything in the window, so clips are never padded to share a batch; clips
longer than a window are cut into windows, whose embeddings are averaged by their length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.batching import by_shape, in_fixed_batches
from otadtk.encoders.blocks.frontend import decibels, power_spectrogram
from otadtk.encoders.blocks.moments import channel_moments
from otadtk.encoders.checkpoints.matching import fused, load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding, LayeredEncoding

LEAST_HOPS = 32
"""What five halvings of the time axis need to leave one step."""
_BANDS = 64
_CHANNELS = (64, 128, 256, 512, 1024, 2048)
_EMBEDDING, _CLASSES = 2048, 527
_SHOWN = (2, 3, 4)
"""The blocks of ``spec.layers``, counted from 0."""
_PIXELS_AT_ONCE = 32
# The Fourier transform is published as convolution kernels; the fast transform does the same.
_LEFT_OUT = (r"spectrogram_extractor\.stft\.conv_(real|imag)\.weight",)


class ConvolutionBlock(nn.Module):
    """Two 3×3 convolutions with batch norm and ReLU, then average pooling."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1: nn.Module = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.conv2: nn.Module = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn1: nn.Module = nn.BatchNorm2d(outputs)
        self.bn2: nn.Module = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor, pool: tuple[int, int] = (2, 2)) -> torch.Tensor:
        """``(n, inputs, time, frequency)`` -> ``(n, outputs, time / pool, frequency / pool)``."""
        x = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        x = functional.relu(self.bn2(self.conv2(x)), inplace=True)
        return functional.avg_pool2d(x, pool) if pool != (1, 1) else x


class LastBlock(ConvolutionBlock):
    """A block without pooling, for images so small that the time goes into reading the weights.

    5 s leave 15×2 pixels for 57 million weights, which a convolution first puts in another order; a
    plain matrix product takes 0.4 of the time.
    """

    def forward(self, x: torch.Tensor, pool: tuple[int, int] = (1, 1)) -> torch.Tensor:
        """``(n, inputs, time, frequency)`` -> ``(n, outputs, time, frequency)``."""
        x = functional.relu(self.bn1(_matrix_product(self.conv1, x)), inplace=True)
        return functional.relu(self.bn2(_matrix_product(self.conv2, x)), inplace=True)


def _matrix_product(convolution: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """A 3×3 convolution as matrix products, each over a fixed number of pixels."""
    assert isinstance(convolution, nn.Conv2d)
    weight, bias = convolution.weight.flatten(1), convolution.bias
    neighbourhoods = functional.unfold(x, 3, padding=1).transpose(1, 2).flatten(0, 1)
    pixels = in_fixed_batches(
        lambda rows: functional.linear(rows, weight, bias), neighbourhoods, _PIXELS_AT_ONCE
    )
    n, _, time, frequency = x.shape
    return pixels.view(n, time, frequency, -1).permute(0, 3, 1, 2)


class WaveformBlock(nn.Module):
    """Two convolutions over time, the second dilated, then max pooling by four."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1: nn.Module = nn.Conv1d(inputs, outputs, 3, padding=1, bias=False)
        self.conv2: nn.Module = nn.Conv1d(outputs, outputs, 3, padding=2, dilation=2, bias=False)
        self.bn1: nn.Module = nn.BatchNorm1d(outputs)
        self.bn2: nn.Module = nn.BatchNorm1d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(n, inputs, time)`` -> ``(n, outputs, time / 4)``."""
        x = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        x = functional.relu(self.bn2(self.conv2(x)), inplace=True)
        return functional.max_pool1d(x, 4)


class Cnn14(nn.Module):
    """CNN14: waveforms ``(n, samples)`` -> embeddings ``(n, 2048)``."""

    fft_length, hop = 1024, 320
    """Of the spectrogram, in samples: a hop is 10 ms."""
    beside_first_block = 0
    """Channels that join the output of the first block."""

    def __init__(self) -> None:
        super().__init__()
        self.mel_matrix = nn.Parameter(torch.empty(self.fft_length // 2 + 1, _BANDS))
        self.bn0 = nn.BatchNorm2d(_BANDS)
        inputs = (1, _CHANNELS[0] + self.beside_first_block, *_CHANNELS[1:])
        self.blocks = nn.ModuleList(
            (LastBlock if o == _CHANNELS[-1] else ConvolutionBlock)(i, o)
            for i, o in zip(inputs, _CHANNELS, strict=False)
        )
        self.fc1 = nn.Linear(_CHANNELS[-1], _EMBEDDING)
        self.fc_audioset = nn.Linear(_EMBEDDING, _CLASSES)

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """Embeddings of waveforms of one length."""
        x = self.first_block(waveforms)
        for block in self.blocks[1:]:
            x = block(x)
        return self._embedding(x)

    def with_layers(self, waveforms: torch.Tensor) -> torch.Tensor:
        """Embeddings, then means and mean squares of ``_SHOWN`` blocks, ``(n, 2048 + 2 · 1792)``."""
        x, moments = self.first_block(waveforms), []
        for index, block in enumerate(self.blocks[1:], start=1):
            x = block(x)
            if index in _SHOWN:
                moments.append(channel_moments(x))
        means, squares = zip(*moments, strict=True)
        return torch.cat([self._embedding(x), *means, *squares], dim=1)

    def _embedding(self, x: torch.Tensor) -> torch.Tensor:
        x = x.mean(dim=3)
        return functional.relu(self.fc1(x.amax(dim=2) + x.mean(dim=2)))

    def first_block(self, waveforms: torch.Tensor) -> torch.Tensor:
        """What the first block makes of the log-mel spectrogram ``(n, 1, frames, bands)``."""
        power = power_spectrogram(waveforms, self.fft_length, self.hop)
        log_mel = decibels(power @ self.mel_matrix)
        normed = self.bn0(log_mel.transpose(1, 2)[..., None])  # batch norm per band
        x: torch.Tensor = self.blocks[0](normed.permute(0, 3, 2, 1))
        return x


class Cnn14At16kHz(Cnn14):
    """CNN14 at half the rate, with windows of the same duration."""

    fft_length, hop = 512, 160


class WavegramLogmelCnn14(Cnn14):
    """CNN14 with a wavegram of 64 channels beside the log-mel branch."""

    beside_first_block = 64

    def __init__(self) -> None:
        super().__init__()
        self.pre_conv0 = nn.Conv1d(1, 64, 11, stride=5, padding=5, bias=False)
        self.pre_bn0 = nn.BatchNorm1d(64)
        self.pre_block1 = WaveformBlock(64, 64)
        self.pre_block2 = WaveformBlock(64, 128)
        self.pre_block3 = WaveformBlock(128, 128)
        self.pre_block4 = ConvolutionBlock(4, 64)

    def first_block(self, waveforms: torch.Tensor) -> torch.Tensor:
        """The first block of the log-mel branch and the wavegram, as 128 channels."""
        a = functional.relu(self.pre_bn0(self.pre_conv0(waveforms[:, None])), inplace=True)
        a = self.pre_block3(self.pre_block2(self.pre_block1(a)))  # a step is now 320 samples
        # 128 channels become 4 channels of 32 "frequencies"
        a = a.unflatten(1, (4, 32)).transpose(2, 3)
        wavegram = self.pre_block4(a, (2, 1))
        # With an odd number of hops the log-mel branch is one step longer; there the original
        # network fails, here the step is dropped.
        log_mel = super().first_block(waveforms)[:, :, : wavegram.shape[2]]
        return torch.cat([log_mel, wavegram], dim=1)


class PannsEncoder(Encoder):
    """A PANN as an encoder: one frame per window, weighted by the window's length."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: Cnn14) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """One embedding per segment; segments of one length share batches."""
        vectors = by_shape(self.network, self._padded(segments))
        return [
            self._encoding(vector, segment)
            for vector, segment in zip(vectors, segments, strict=True)
        ]

    @torch.inference_mode()
    def encode_layers(self, segments: Sequence[torch.Tensor]) -> list[LayeredEncoding]:
        """The same in the same pass with the moments of the blocks."""
        shown = by_shape(self.network.with_layers, self._padded(segments))
        channels = sum(count for _, count in self.spec.layers)
        parts = [torch.split(row, [self.spec.dim, channels, channels]) for row in shown]
        return [
            LayeredEncoding(self._encoding(vector, segment), means[None], squares[None])
            for (vector, means, squares), segment in zip(parts, segments, strict=True)
        ]

    def _padded(self, segments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        least = LEAST_HOPS * self.network.hop
        return [
            functional.pad(segment.to(self.device), (0, max(0, least - len(segment))))
            for segment in segments
        ]

    def _encoding(self, vector: torch.Tensor, segment: torch.Tensor) -> Encoding:
        return Encoding(vector[None], torch.tensor([len(segment) / self.spec.sample_rate]))

    def class_logits(self, seen: torch.Tensor) -> torch.Tensor:
        """The logits ``(n, 527)`` of embeddings."""
        logits: torch.Tensor = self.network.fc_audioset(seen)
        return logits


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> PannsEncoder:
    """The network of the spec's name, with its published weights."""
    network = load_network(
        spec,
        user_copy,
        _NETWORKS[spec.name],
        names=_published_name,
        left_out=_LEFT_OUT,
        inside="model",
    )
    for block in network.modules():
        if isinstance(block, (ConvolutionBlock, WaveformBlock)):
            block.conv1, block.bn1 = fused(block.conv1, block.bn1), nn.Identity()
            block.conv2, block.bn2 = fused(block.conv2, block.bn2), nn.Identity()
    return PannsEncoder(spec, device, network)


_NETWORKS: dict[str, type[Cnn14]] = {
    "panns": Cnn14,
    "panns_16k": Cnn14At16kHz,
    "panns_wglm": WavegramLogmelCnn14,
}


def _published_name(ours: str) -> str:
    if ours == "mel_matrix":
        return "logmel_extractor.melW"
    return re.sub(r"^blocks\.(\d)", lambda match: f"conv_block{int(match[1]) + 1}", ours)
