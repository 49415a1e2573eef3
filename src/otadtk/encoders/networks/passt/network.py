"""PaSST: a transformer on the spectrogram, trained on AudioSet (Koutini et al., Interspeech 2022).

Up to 10 s at 32 kHz become 128 mel bands every 10 ms, seen through 16×16 patches every 10 steps. Times
and frequencies have positions of their own, so a window may be shorter than 10 s. The embedding is the
mean of the two leading tokens; 527 AudioSet classes are read from it. The package averages overlapping
windows of a longer clip; here it is cut into windows, which are averaged by their length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from otadtk.encoders.blocks.attention import pack_dense_layers
from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import htk_mel_matrix
from otadtk.encoders.blocks.vision_transformer import PATCH, Block
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

_FFT, _WINDOW, _HOP, _BANDS, _HIGHEST_HZ = 1024, 800, 320, 128, 15_000.0
_DIM, _BLOCKS, _STRIDE, _CLASSES = 768, 12, 10, 527
_FREQUENCIES, _TIMES = 12, 99
_EPSILON = 1e-6


class PasstNetwork(nn.Module):
    """PaSST: waveforms ``(n, samples)`` of up to 10 s -> embeddings ``(n, 768)``."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, _DIM, PATCH, stride=_STRIDE)
        self.class_token = nn.Parameter(torch.empty(1, 1, _DIM))
        self.distillation_token = nn.Parameter(torch.empty(1, 1, _DIM))
        self.leading_positions = nn.Parameter(torch.empty(1, 2, _DIM))
        self.frequency_positions = nn.Parameter(torch.empty(1, _DIM, _FREQUENCIES, 1))
        self.time_positions = nn.Parameter(torch.empty(1, _DIM, 1, _TIMES))
        self.blocks = nn.ModuleList(Block(_EPSILON) for _ in range(_BLOCKS))
        self.norm = nn.LayerNorm(_DIM, eps=_EPSILON)
        self.class_norm = nn.LayerNorm(_DIM)
        self.classifier = nn.Linear(_DIM, _CLASSES)

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """The mean of the two leading tokens."""
        x = self.patches(_log_mel(waveforms)[:, None])[..., :_TIMES]
        x = x + self.time_positions[..., : x.shape[3]] + self.frequency_positions
        leading = torch.cat([self.class_token, self.distillation_token], dim=1)
        leading = (leading + self.leading_positions).expand(len(x), -1, -1)
        x = torch.cat([leading, x.flatten(2).transpose(1, 2)], dim=1)
        for block in self.blocks:
            x = block(x)
        embedded: torch.Tensor = self.norm(x[:, :2]).mean(dim=1)
        return embedded

    def class_scores(self, embeddings: torch.Tensor) -> torch.Tensor:
        """The logits ``(n, 527)`` of the AudioSet classes."""
        scores: torch.Tensor = self.classifier(self.class_norm(embeddings))
        return scores


def _log_mel(waveforms: torch.Tensor) -> torch.Tensor:
    """Normalised log-mel bands ``(n, 128, frames)``."""
    emphasised = waveforms[:, 1:] - 0.97 * waveforms[:, :-1]
    window = torch.hann_window(_WINDOW, periodic=False, device=waveforms.device)
    spectrum = torch.stft(
        emphasised, _FFT, _HOP, win_length=_WINDOW, window=window, return_complex=True
    )
    power = torch.view_as_real(spectrum).square().sum(dim=-1)
    filters = htk_mel_matrix(_BANDS, _FFT // 2 + 1, 32_000, 0.0, _HIGHEST_HZ).to(waveforms.device)
    return (torch.log(filters.T @ power + 1e-5) + 4.5) / 5.0


class PasstEncoder(Encoder):
    """PaSST as an encoder: one frame per window, weighted by the window's length."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: PasstNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)
        pack_dense_layers(self.network, device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """One embedding per segment; segments of one length share batches."""
        vectors = by_shape(self.network, [segment.to(self.device) for segment in segments])
        return [
            Encoding(vector[None], torch.tensor([len(segment) / self.spec.sample_rate]))
            for vector, segment in zip(vectors, segments, strict=True)
        ]

    def class_logits(self, seen: torch.Tensor) -> torch.Tensor:
        """The logits ``(n, 527)`` of embedded windows, for KL and the Inception Score."""
        return self.network.class_scores(seen)


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> PasstEncoder:
    """PaSST with its published weights; the unused classifier of the second token is left out."""
    network = load_network(
        spec, user_copy, PasstNetwork, names=_published_name, left_out=(r"head_dist\..*",)
    )
    return PasstEncoder(spec, device, network)


_OUTSIDE_BLOCKS = {
    "class_token": "cls_token",
    "distillation_token": "dist_token",
    "leading_positions": "new_pos_embed",
    "frequency_positions": "freq_new_pos_embed",
    "time_positions": "time_new_pos_embed",
    "patches": "patch_embed.proj",
    "class_norm": "head.0",
    "classifier": "head.1",
    "norm": "norm",
}
_IN_BLOCK = {
    "attention.qkv": "attn.qkv",
    "attention.projection": "attn.proj",
    "feed_forward.0": "mlp.fc1",
    "feed_forward.2": "mlp.fc2",
}


def _published_name(ours: str) -> str:
    if ours in _OUTSIDE_BLOCKS:
        return _OUTSIDE_BLOCKS[ours]
    module, _, kind = ours.rpartition(".")
    if match := re.fullmatch(r"blocks\.(\d+)\.(.+)", module):
        return f"blocks.{match[1]}.{_IN_BLOCK.get(match[2], match[2])}.{kind}"
    return f"{_OUTSIDE_BLOCKS[module]}.{kind}"
