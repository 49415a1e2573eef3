"""OpenL3: look, listen and learn more (Cramer et al., ICASSP 2019); mel256, music, 512-d.

48 kHz audio, half a second of silence before it, becomes frames of 1 s every 0.1 s. Each frame is a
256-band mel spectrogram in decibels below its own maximum, which a convolutional network takes to
the 512 maxima of its last layer; the clip vector is the mean over frames. The kernels of the Fourier
transform and the mel filters are part of the checkpoint and are used as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import frame, pad_to_whole_windows, slaney_mel_matrix
from otadtk.encoders.checkpoints.matching import fused, load_network, put_channels_last
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

FRAME_SAMPLES, FRAME_HOP = 48_000, 4_800
_FFT, _HOP, _BANDS = 2048, 242, 256
# Keras pads a strided convolution so that its last window is whole
_PADDING = (_FFT - FRAME_SAMPLES % _HOP) // 2
_DECIBEL_RANGE = 80.0
# channels after each convolution; every second one is followed by max pooling by 2
_CHANNELS = (64, 64, 128, 128, 256, 256, 512, 512)


class OpenL3Network(nn.Module):
    """The audio branch of OpenL3: frames of sound ``(n, 48000)`` -> embeddings ``(n, 512)``."""

    def __init__(self) -> None:
        super().__init__()
        bins = _FFT // 2 + 1
        self.cosines = nn.Parameter(torch.empty(bins, 1, _FFT))
        self.sines = nn.Parameter(torch.empty(bins, 1, _FFT))
        self.mel_filters = nn.Parameter(torch.empty(_BANDS, bins))
        self.input_norm = nn.BatchNorm2d(1, eps=1e-3)
        inputs = (1, *_CHANNELS)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(i, o, 3, padding=1) for i, o in zip(inputs, _CHANNELS, strict=False)
        )
        # the last convolution is the embedding and has neither norm nor ReLU
        self.norms = nn.ModuleList(nn.BatchNorm2d(c, eps=1e-3) for c in _CHANNELS[:-1])

    def forward(self, sounds: torch.Tensor) -> torch.Tensor:
        """Embeddings of frames of one second."""
        x = self.input_norm(self.spectrogram(sounds)[:, None])
        for number, convolution in enumerate(self.convolutions[:-1]):
            x = functional.relu(self.norms[number](convolution(x)), inplace=True)
            if number % 2 == 1:
                x = functional.max_pool2d(x, 2)
        embedded: torch.Tensor = self.convolutions[-1](x).amax(dim=(2, 3))
        return embedded

    def spectrogram(self, sounds: torch.Tensor) -> torch.Tensor:
        """Mel magnitudes ``(n, 256, 199)`` in decibels below the maximum of each frame of sound."""
        padded = functional.pad(sounds, (_PADDING, _PADDING))[:, None]
        real = functional.conv1d(padded, self.cosines, stride=_HOP)
        imaginary = functional.conv1d(padded, self.sines, stride=_HOP)
        return _below_maximum((self.mel_filters @ (real.square() + imaginary.square())).sqrt())


def newer_spectrogram(sounds: torch.Tensor) -> torch.Tensor:
    """The same as the package openl3 computes it from version 0.4 on.

    It takes mel bands of magnitudes and not of powers, and pads each frame of sound at its end only.
    """
    frames = math.ceil(FRAME_SAMPLES / _HOP)
    padded = functional.pad(sounds, (0, (frames - 1) * _HOP + _FFT - FRAME_SAMPLES))
    window = torch.hann_window(_FFT, device=sounds.device)
    spectrum = torch.stft(padded, _FFT, _HOP, window=window, center=False, return_complex=True)
    filters = slaney_mel_matrix(_BANDS, _FFT // 2 + 1, FRAME_SAMPLES, 0.0, FRAME_SAMPLES / 2)
    return _below_maximum(filters.T.to(sounds.device) @ spectrum.abs())


def _below_maximum(magnitude: torch.Tensor) -> torch.Tensor:
    level = magnitude.clamp_min(1e-10).log() * (10.0 / math.log(10.0))
    return (level - level.amax(dim=(1, 2), keepdim=True)).clamp_min(-_DECIBEL_RANGE)


class OpenL3Encoder(Encoder):
    """OpenL3 as an encoder: one frame every 0.1 s."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: OpenL3Network) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Embeddings of the frames of each segment; frames of all segments share batches."""
        sounds = []
        for segment in segments:
            padded = pad_to_whole_windows(segment.to(self.device), FRAME_SAMPLES, FRAME_HOP)
            sounds.append(frame(padded, FRAME_SAMPLES, FRAME_HOP))
        embedded = torch.stack(by_shape(self.network, [s for frames in sounds for s in frames]))
        split = torch.split(embedded, [len(s) for s in sounds])
        return [Encoding(frames, torch.ones(len(frames))) for frames in split]

    def frames_every(self, hop: int, clip: torch.Tensor) -> torch.Tensor:
        """Embeddings of frames of 1 s that start every ``hop`` samples."""
        padded = pad_to_whole_windows(clip.to(self.device), FRAME_SAMPLES, hop)
        return torch.stack(by_shape(self.network, list(frame(padded, FRAME_SAMPLES, hop))))


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> OpenL3Encoder:
    """OpenL3 with its published weights, ported from Keras by the torchopenl3 project."""
    network = load_network(spec, user_copy, OpenL3Network, names=_published_name)
    for number in range(len(network.norms)):
        convolution, norm = network.convolutions[number], network.norms[number]
        network.convolutions[number], network.norms[number] = (
            fused(convolution, norm),
            nn.Identity(),
        )
    put_channels_last(network.convolutions)  # a little faster on the CPU
    return OpenL3Encoder(spec, device, network)


def _published_name(ours: str) -> str:
    front_end = {
        "cosines": "dft_real_kernels",
        "sines": "dft_imag_kernels",
        "mel_filters": "mel_basis",
    }
    if ours in front_end:
        return f"speclayer.{front_end[ours]}"
    layer, _, kind = ours.rpartition(".")
    name, _, number = layer.partition(".")
    if name == "convolutions":
        last = int(number) == len(_CHANNELS) - 1
        return f"audio_embedding_layer.{kind}" if last else f"conv2d_{int(number) + 1}.{kind}"
    # the input norm is their number 1
    return f"batch_normalization_{int(number) + 2 if name == 'norms' else 1}.{kind}"
