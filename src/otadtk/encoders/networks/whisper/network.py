"""Whisper tiny.en: the encoder of a speech recogniser (Radford et al., ICML 2023).

A window of 30 s at 16 kHz becomes 3000 log-mel frames, two convolutions halve them, and four
transformer layers give 1500 frames of 384 numbers. Shorter clips are padded with zeros as Whisper
does it; the frames behind the end of the clip do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.attention import FeedForward, SelfAttention, pack_dense_layers
from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import power_spectrogram, slaney_mel_matrix
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

WINDOW_SAMPLES = 480_000
FRAME_SAMPLES = 320
_FFT, _HOP, _BANDS = 400, 160, 80
_DIM, _HEADS, _LAYERS = 384, 6, 4


class Layer(nn.Module):
    """A pre-norm transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(_DIM)
        self.attention = SelfAttention(_DIM, _HEADS)
        self.feed_forward_norm = nn.LayerNorm(_DIM)
        self.feed_forward = FeedForward(_DIM, 4 * _DIM)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Frames of the same shape."""
        x = self.attention(self.attention_norm(x)).add_(x)
        out: torch.Tensor = self.feed_forward(self.feed_forward_norm(x)).add_(x)
        return out


class WhisperNetwork(nn.Module):
    """Whisper's encoder: waveforms ``(n, 480000)`` -> frames ``(n, 1500, 384)``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(_BANDS, _DIM, 3, padding=1)
        self.conv2 = nn.Conv1d(_DIM, _DIM, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.empty(WINDOW_SAMPLES // FRAME_SAMPLES, _DIM))
        self.layers = nn.ModuleList(Layer() for _ in range(_LAYERS))
        self.norm = nn.LayerNorm(_DIM)

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """The frames after the last layer's norm."""
        x = functional.gelu(self.conv1(_log_mel(waveforms).transpose(1, 2)))
        x = functional.gelu(self.conv2(x)).transpose(1, 2) + self.positions
        for layer in self.layers:
            x = layer(x)
        frames: torch.Tensor = self.norm(x)
        return frames


def _log_mel(waveforms: torch.Tensor) -> torch.Tensor:
    """Log-mel frames ``(n, 3000, 80)``, at most 80 dB below the loudest of the window."""
    power = power_spectrogram(waveforms, _FFT, _HOP)[:, :-1]
    filters = slaney_mel_matrix(_BANDS, _FFT // 2 + 1, 16_000, 0.0, 8000.0).to(waveforms.device)
    levels = torch.log10((power @ filters).clamp_min(1e-10))
    loudest = levels.amax(dim=(1, 2), keepdim=True)
    return (torch.maximum(levels, loudest - 8.0) + 4.0) / 4.0


class WhisperEncoder(Encoder):
    """Whisper's encoder: one frame per 20 ms of the clip."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: WhisperNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)
        pack_dense_layers(self.network, device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """The frames of each segment that are not padding."""
        padded = [
            functional.pad(segment.to(self.device), (0, WINDOW_SAMPLES - len(segment)))
            for segment in segments
        ]
        counts = [-(-len(segment) // FRAME_SAMPLES) for segment in segments]
        frames = by_shape(self.network, padded)
        return [Encoding(f[:n].clone(), torch.ones(n)) for f, n in zip(frames, counts, strict=True)]


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> WhisperEncoder:
    """Whisper's encoder with its published weights; the decoder is left out."""
    network = load_network(
        spec,
        user_copy,
        WhisperNetwork,
        names=_published_name,
        left_out=(r"decoder\..*",),
        inside="model_state_dict",
        amended=_with_key_biases,
    )
    return WhisperEncoder(spec, device, network)


def _with_key_biases(table: dict[str, Any]) -> dict[str, Any]:
    """The published tensors and zeros for the biases of the keys, which Whisper has not."""
    queries = [name for name in table if re.fullmatch(r"encoder\..*\.attn\.query\.bias", name)]
    zeros = {name.replace("query", "key"): torch.zeros_like(table[name]) for name in queries}
    return {**table, **zeros}


_IN_LAYER = {
    "attention_norm": "attn_ln",
    "attention.projection": "attn.out",
    "feed_forward_norm": "mlp_ln",
    "feed_forward.0": "mlp.0",
    "feed_forward.2": "mlp.2",
}


def _published_name(ours: str) -> str | Sequence[str]:
    if ours == "positions":
        return "encoder.positional_embedding"
    module, _, kind = ours.rpartition(".")
    match = re.fullmatch(r"layers\.(\d)\.(.+)", module)
    if match is None:
        return f"encoder.{'ln_post' if module == 'norm' else module}.{kind}"
    layer = f"encoder.blocks.{match[1]}"
    if match[2] == "attention.qkv":
        return [f"{layer}.attn.{part}.{kind}" for part in ("query", "key", "value")]
    return f"{layer}.{_IN_LAYER[match[2]]}.{kind}"
