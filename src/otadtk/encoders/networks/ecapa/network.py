"""ECAPA-TDNN: a network that tells speakers apart (Desplanques et al., Interspeech 2020).

SpeechBrain's weights and front end: 80 mel bands of a waveform at 16 kHz in decibels, the mean over
the window removed. Dilated convolutions over time with channel attention follow; attention over time
pools them to the 192-d embedding. Clips longer than 30 s are cut into windows, whose embeddings are
averaged by their length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import decibels
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

_WINDOW, _HOP, _BANDS = 400, 160, 80
_CHANNELS, _WIDE, _SQUEEZED, _PARTS = 1024, 3072, 128, 8
_DYNAMIC_RANGE_DB = 80.0
_LEAST_VARIANCE = 1e-12


class Convolution(nn.Module):
    """A convolution over time with mirrored ends, ReLU and batch norm."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation)
        self.norm = nn.BatchNorm1d(outputs)
        self._ends = dilation * (kernel - 1) // 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(n, inputs, time)`` -> ``(n, outputs, time)``."""
        if self._ends:
            x = functional.pad(x, (self._ends, self._ends), mode="reflect")
        out: torch.Tensor = self.norm(functional.relu(self.conv(x), inplace=True))
        return out


class Block(nn.Module):
    """A residual block: eight parts of the channels, each seeing the one before, and channel gains."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        part = _CHANNELS // _PARTS
        self.before = Convolution(_CHANNELS, _CHANNELS)
        self.parts = nn.ModuleList(Convolution(part, part, 3, dilation) for _ in range(_PARTS - 1))
        self.after = Convolution(_CHANNELS, _CHANNELS)
        self.squeeze = nn.Conv1d(_CHANNELS, _SQUEEZED, 1)
        self.excite = nn.Conv1d(_SQUEEZED, _CHANNELS, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Channels of the same shape."""
        first, *others = self.before(x).chunk(_PARTS, dim=1)
        outputs, last = [first], None
        for convolution, part in zip(self.parts, others, strict=True):
            last = convolution(part if last is None else part + last)
            outputs.append(last)
        y = self.after(torch.cat(outputs, dim=1))
        gains = functional.relu(self.squeeze(y.mean(dim=2, keepdim=True)))
        out: torch.Tensor = torch.sigmoid(self.excite(gains)) * y + x
        return out


class EcapaNetwork(nn.Module):
    """ECAPA-TDNN: waveforms ``(n, samples)`` -> embeddings ``(n, 192)``."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Convolution(_BANDS, _CHANNELS, 5)
        self.blocks = nn.ModuleList(Block(dilation) for dilation in (2, 3, 4))
        self.joined = Convolution(3 * _CHANNELS, _WIDE)
        self.attention = Convolution(3 * _WIDE, _SQUEEZED)
        self.scores = nn.Conv1d(_SQUEEZED, _WIDE, 1)
        self.norm = nn.BatchNorm1d(2 * _WIDE)
        self.embedding = nn.Conv1d(2 * _WIDE, 192, 1)

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """Embeddings of waveforms of one length."""
        x = self.first(_bands(waveforms).transpose(1, 2))
        outputs = []
        for block in self.blocks:
            x = block(x)
            outputs.append(x)
        x = self.joined(torch.cat(outputs, dim=1))
        even = torch.full_like(x[:1, :1], 1.0 / x.shape[2])
        context = [s.expand_as(x) for s in _statistics(x, even)]
        scores = self.scores(torch.tanh(self.attention(torch.cat([x, *context], dim=1))))
        pooled = torch.cat(_statistics(x, functional.softmax(scores, dim=2)), dim=1)
        embedded: torch.Tensor = self.embedding(self.norm(pooled))
        return embedded.squeeze(2)


def _statistics(x: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted mean and deviation over time, ``(n, channels, 1)`` each."""
    mean = (weights * x).sum(dim=2, keepdim=True)
    variance = (weights * (x - mean).square()).sum(dim=2, keepdim=True)
    return mean, variance.clamp_min(_LEAST_VARIANCE).sqrt()


def _bands(waveforms: torch.Tensor) -> torch.Tensor:
    """Mel bands in decibels ``(n, frames, 80)``, less their mean over time."""
    window = torch.hamming_window(_WINDOW, device=waveforms.device)
    spectrum = torch.stft(
        waveforms, _WINDOW, _HOP, window=window, pad_mode="constant", return_complex=True
    )
    power = torch.view_as_real(spectrum).square().sum(dim=-1).transpose(1, 2)
    levels = decibels(power @ _mel_matrix().to(waveforms.device))
    loudest = levels.amax(dim=(1, 2), keepdim=True)
    levels = torch.maximum(levels, loudest - _DYNAMIC_RANGE_DB)
    return levels - levels.mean(dim=1, keepdim=True)


@lru_cache(maxsize=1)
def _mel_matrix() -> torch.Tensor:
    """SpeechBrain's filters ``(201, 80)``: as wide above the centre as below it, in hertz.

    In single precision as there: the network sees the rounding of the lowest bands.
    """
    highest = 2595.0 * math.log10(1.0 + 8000.0 / 700.0)
    mels = torch.linspace(0.0, highest, _BANDS + 2, device="cpu")
    edges = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    centres, widths = edges[1:-1], edges[1:-1] - edges[:-2]
    hertz = torch.linspace(0.0, 8000.0, _WINDOW // 2 + 1, device="cpu")[:, None]
    slopes = (hertz - centres) / widths
    return torch.minimum(slopes + 1.0, 1.0 - slopes).clamp_min(0.0)


class EcapaEncoder(Encoder):
    """ECAPA-TDNN as an encoder: one frame per window, weighted by the window's length."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: EcapaNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """One embedding per segment; segments of one length share batches."""
        vectors = by_shape(self.network, [segment.to(self.device) for segment in segments])
        return [
            Encoding(vector[None], torch.tensor([len(segment) / self.spec.sample_rate]))
            for vector, segment in zip(vectors, segments, strict=True)
        ]


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> EcapaEncoder:
    """ECAPA-TDNN with the weights that SpeechBrain publishes."""
    return EcapaEncoder(spec, device, load_network(spec, user_copy, EcapaNetwork, names=_name))


_PUBLISHED = (
    (r"first\.(conv|norm)", r"blocks.0.\1.\1"),
    (r"blocks\.(\d)\.parts\.(\d)\.(conv|norm)", r"blocks.\1.res2net_block.blocks.\2.\3.\3"),
    (r"blocks\.(\d)\.before\.(conv|norm)", r"blocks.\1.tdnn1.\2.\2"),
    (r"blocks\.(\d)\.after\.(conv|norm)", r"blocks.\1.tdnn2.\2.\2"),
    (r"blocks\.(\d)\.squeeze", r"blocks.\1.se_block.conv1.conv"),
    (r"blocks\.(\d)\.excite", r"blocks.\1.se_block.conv2.conv"),
    (r"joined\.(conv|norm)", r"mfa.\1.\1"),
    (r"attention\.(conv|norm)", r"asp.tdnn.\1.\1"),
    (r"scores", r"asp.conv.conv"),
    (r"norm", r"asp_bn.norm"),
    (r"embedding", r"fc.conv"),
)


def _name(ours: str) -> str:
    module, _, kind = ours.rpartition(".")
    module = re.sub(r"^blocks\.(\d)", lambda match: f"blocks.{int(match[1]) + 1}", module)
    published = next(re.sub(p, t, module) for p, t in _PUBLISHED if re.fullmatch(p, module))
    return f"{published}.{kind}"
