"""DistillMOS: predicted overall quality of speech (Stahl & Gamper, ICASSP 2025).

A small network that was taught by a large one. It hears 7.68 s at 16 kHz, at full scale: a shorter
clip is padded with zeros, a longer one is cut into windows that start at most 1 s apart, whose scores
are averaged. Convolutions on the compressed complex spectrum, a transformer and attention over time
give one score from 1 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.checkpoints.matching import arrange, fill, on_meta, table_inside
from otadtk.weights import PackageMember, Tensors, WeightFile, load_converted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from otadtk.quality.measures import Rater

WEIGHTS = WeightFile(
    "distill_mos_v7.pt",
    PackageMember(
        distribution="distillmos",
        version="0.9.1",
        archive="distillmos-0.9.1-py3-none-any.whl",
        archive_digest="sha256:f82e5326ed963ddc28a3e079ded4dbb1bd072ad54be5bdc4380290a9bce3536a",
        member="distillmos/weights/distill_mos_v7.pt",
    ),
    "sha256:b18b3ac60227267cfb91e5d00ce22cc7b73716fd92f269484da1446e27031a40",
)
WINDOW_SAMPLES, _LARGEST_STEP = 122_880, 16_000
_FFT, _HOP = 320, 160
# (outputs, stride over frequency, stride over time) of each convolution
_CONVOLUTIONS = ((64, 1, 1), (64, 2, 1), (128, 2, 1), (256, 2, 1), (256, 2, 1), (256, 2, 2))
_FEATURES, _FRAMES, _DIM, _HEADS, _LAYERS = 1024, 384, 200, 8, 7


class DistillMosNetwork(nn.Module):
    """Windows ``(n, 122880)`` of full scale -> scores ``(n,)`` from 1 to 5."""

    def __init__(self) -> None:
        super().__init__()
        inputs = (2, *(outputs for outputs, _, _ in _CONVOLUTIONS))
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels, outputs, 3, stride=(up, along), padding=(0, 1))
            for channels, (outputs, up, along) in zip(inputs, _CONVOLUTIONS, strict=False)
        )
        self.input_norm = nn.BatchNorm1d(_FEATURES)
        self.second_norm = nn.BatchNorm1d(_FEATURES)
        self.projection = nn.Linear(_FEATURES, _DIM)
        self.positions = nn.Parameter(torch.empty(1, _FRAMES, _DIM))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(_DIM, _HEADS, 2 * _DIM, batch_first=True)
            for _ in range(_LAYERS)
        )
        self.last_norm = nn.BatchNorm1d(_DIM)
        self.attention = nn.Sequential(nn.Linear(_DIM, 2 * _DIM), nn.ReLU(), nn.Linear(2 * _DIM, 1))
        self.score = nn.Linear(_DIM, 1)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        """Opinion scores of windows."""
        x = _compressed(windows)
        for convolution in self.convolutions:
            x = functional.leaky_relu(convolution(x), 0.1)
        x = self.second_norm(self.input_norm(x.flatten(1, 2))).transpose(1, 2)
        x = self.projection(x) + self.positions
        for layer in self.layers:
            x = layer(x)
        x = self.last_norm(x.transpose(1, 2)).transpose(1, 2)
        pooled = (functional.softmax(self.attention(x), dim=1) * x).sum(dim=1)
        score: torch.Tensor = 1.0 + 4.0 * torch.sigmoid(self.score(pooled)).squeeze(1)
        return score


def _compressed(windows: torch.Tensor) -> torch.Tensor:
    """Real and imaginary parts ``(n, 2, 161, frames)``, magnitudes to the power 0.3."""
    ends = (_FFT - _HOP) // 2
    padded = functional.pad(windows, (ends, ends), mode="reflect")
    window = torch.hann_window(_FFT, device=windows.device)
    spectrum = torch.stft(padded, _FFT, _HOP, window=window, center=False, return_complex=True)
    parts = torch.view_as_real(spectrum)
    magnitude = parts.square().sum(dim=-1, keepdim=True).sqrt().clamp_min(1e-12)
    return (magnitude**0.3 * parts / magnitude).permute(0, 3, 1, 2)


def load(device: torch.device, user_copy: Path | None = None) -> Rater:
    """The rater with its published weights."""
    tensors, _ = load_converted("distillmos", (WEIGHTS,), convert, user_copy)
    network = fill("distillmos", on_meta(DistillMosNetwork), tensors).to(device)

    @torch.inference_mode()
    def rate(waveform: NDArray[np.float32]) -> Sequence[float]:
        scores = [float(network(window[None].to(device))[0]) for window in _windows(waveform)]
        return (sum(scores) / len(scores),)

    return rate


def _windows(waveform: NDArray[np.float32]) -> list[torch.Tensor]:
    """The windows of a clip, each scaled to a peak of 1."""
    samples = torch.from_numpy(waveform)
    samples = functional.pad(samples, (0, max(0, WINDOW_SAMPLES - len(samples))))
    beyond = len(samples) - WINDOW_SAMPLES
    count = -(-beyond // _LARGEST_STEP) + 1
    starts = [int(place * beyond) for place in np.linspace(0.0, 1.0, count)]
    cut = [samples[start : start + WINDOW_SAMPLES] for start in starts]
    return [window / (window.abs().max() + 1e-8) for window in cut]


def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
    """The tensors of the published checkpoint."""
    (path,) = files.values()
    published = table_inside(path, "model")
    return arrange("distillmos", published, on_meta(DistillMosNetwork), _published_name), {}


_MODULES = {
    "input_norm": "norm_input",
    "second_norm": "transformer.norm",
    "projection": "transformer.linear_proj",
    "last_norm": "norm_trans",
    "attention.0": "pool.linear1",
    "attention.2": "pool.linear2",
    "score": "pool.linear3",
}


def _published_name(ours: str) -> str:
    first, _, rest = ours.partition(".")
    tower = "transformer_pool_attn"
    if first == "convolutions":
        number, _, kind = rest.partition(".")
        return f"cnn.cnn.{2 * int(number)}.{kind}"
    if first == "layers":
        return f"{tower}.transformer.transformer_encoder.layers.{rest}"
    if first == "positions":
        return f"{tower}.transformer.position_encoding.pe"
    module, _, kind = ours.rpartition(".")
    return f"{tower}.{_MODULES[module]}.{kind}"
