"""CLAP: contrastive language-audio pre-training (Wu et al., ICASSP 2023), LAION's unfused HTSAT.

48 kHz audio of 10 s becomes a 64-band log-mel spectrogram of 1001 frames, stretched to 1024, cut
into four strips of 256 frames and stacked to a 256×256 image (HTSAT: Chen et al., ICASSP 2022). A
Swin transformer and two dense layers take it to the 512-d space that it shares with texts; vectors
there have unit length.

A clip shorter than 10 s is repeated as often as it fits whole, then zeros follow. The original crops
a longer one at random; here it is cut into windows of 10 s, whose vectors are averaged by length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.attention import FeedForward, SelfAttention, pack_dense_layers
from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import decibels, power_spectrogram, slaney_mel_matrix
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

WINDOW_SAMPLES = 480_000
_FFT, _HOP, _BANDS = 1024, 480, 64
MEL_RANGE = 50.0, 14_000.0
_IMAGE, _STRIPS, _PATCH = 256, 4, 4
_DIM, _EMBEDDING = 96, 512
_WINDOW = 8
# (blocks, heads) of the four stages; between them the image halves and the channels double
_STAGES = ((2, 4), (2, 8), (6, 16), (2, 32))


class SwinBlock(nn.Module):
    """Attention within windows of 8×8 tokens; every second block shifts the windows by half."""

    def __init__(self, dim: int, heads: int, side: int, shifted: bool) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = SelfAttention(dim, heads)
        self.offset_bias = nn.Parameter(torch.empty((2 * _WINDOW - 1) ** 2, heads))
        self.norm2 = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim, 4 * dim)
        # one window fills the smallest image: nothing to shift
        self._side, self._shift = side, _WINDOW // 2 if shifted and side > _WINDOW else 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens ``(n, side, side, dim)`` of the same shape."""
        x = x + self._attend(self.norm1(x))
        out: torch.Tensor = x + self.feed_forward(self.norm2(x))
        return out

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        n, side, _, dim = x.shape
        x = x.roll((-self._shift, -self._shift), dims=(1, 2))
        windows = side // _WINDOW
        x = x.view(n, windows, _WINDOW, windows, _WINDOW, dim).transpose(2, 3)
        x = self.attention(x.reshape(-1, _WINDOW * _WINDOW, dim), self._bias(n))
        x = x.view(n, windows, windows, _WINDOW, _WINDOW, dim).transpose(2, 3)
        return x.reshape(n, side, side, dim).roll((self._shift, self._shift), dims=(1, 2))

    def _bias(self, images: int) -> torch.Tensor:
        """Bias by the offset of two tokens; shifted windows also mask pairs that are no neighbours."""
        offsets = window_offsets().to(self.offset_bias.device)
        bias = self.offset_bias[offsets].permute(2, 0, 1)[None]
        if self._shift:
            mask = mask_of_shifted_windows(self._side).to(bias.device)
            bias = (bias + mask[:, None]).repeat(images, 1, 1, 1)
        return bias


@lru_cache(maxsize=1)
def window_offsets() -> torch.Tensor:
    """A number ``(64, 64)`` for the offset between each two tokens of a window."""
    index = torch.arange(_WINDOW, device="cpu")
    rows, columns = index.repeat_interleave(_WINDOW), index.repeat(_WINDOW)
    down = rows[:, None] - rows[None, :] + _WINDOW - 1
    right = columns[:, None] - columns[None, :] + _WINDOW - 1
    return down * (2 * _WINDOW - 1) + right


@lru_cache(maxsize=4)
def mask_of_shifted_windows(side: int) -> torch.Tensor:
    """−100 ``(windows, 64, 64)`` between tokens that are neighbours only by the cyclic shift."""
    edges = torch.tensor([side - _WINDOW, side - _WINDOW // 2], device="cpu")
    region = torch.bucketize(torch.arange(side, device="cpu"), edges, right=True)
    regions = 3 * region[:, None] + region[None, :]
    windows = (
        regions.unfold(0, _WINDOW, _WINDOW).unfold(1, _WINDOW, _WINDOW).reshape(-1, _WINDOW**2)
    )
    return torch.where(windows[:, None, :] == windows[:, :, None], 0.0, -100.0)


class PatchMerging(nn.Module):
    """Every 2×2 tokens become one with twice the channels."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(n, side, side, dim)`` -> ``(n, side / 2, side / 2, 2 · dim)``."""
        corners = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        out: torch.Tensor = self.reduction(self.norm(torch.cat(corners, dim=-1)))
        return out


class ClapNetwork(nn.Module):
    """HTSAT and the projection: waveforms ``(n, 480000)`` -> unit vectors ``(n, 512)``."""

    def __init__(self) -> None:
        super().__init__()
        self.band_norm = nn.BatchNorm2d(_BANDS)
        self.patches = nn.Conv2d(1, _DIM, _PATCH, stride=_PATCH)
        self.patch_norm = nn.LayerNorm(_DIM)
        self.stages = nn.ModuleList()
        self.mergings = nn.ModuleList()
        dim, side = _DIM, _IMAGE // _PATCH
        for number, (blocks, heads) in enumerate(_STAGES):
            self.stages.append(
                nn.Sequential(*(SwinBlock(dim, heads, side, b % 2 == 1) for b in range(blocks)))
            )
            if number < len(_STAGES) - 1:
                self.mergings.append(PatchMerging(dim))
                dim, side = 2 * dim, side // 2
        self.norm = nn.LayerNorm(dim)
        self.projection = nn.Sequential(
            nn.Linear(dim, _EMBEDDING), nn.ReLU(), nn.Linear(_EMBEDDING, _EMBEDDING)
        )

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """Vectors of unit length."""
        filters = slaney_mel_matrix(_BANDS, _FFT // 2 + 1, 48_000, *MEL_RANGE)
        return self.vectors(self.patches(self.image(log_mel(waveforms, filters))))

    def vectors(self, patches: torch.Tensor) -> torch.Tensor:
        """Vectors of unit length, from patches ``(n, 96, 64, 64)``."""
        x = self.patch_norm(patches.permute(0, 2, 3, 1))
        for number, stage in enumerate(self.stages):
            x = stage(x)
            if number < len(self.mergings):
                x = self.mergings[number](x)
        return functional.normalize(self.projection(self.norm(x).mean(dim=(1, 2))), dim=-1)

    def image(self, spectrogram: torch.Tensor) -> torch.Tensor:
        """A spectrogram ``(n, frames, 64)`` as four strips ``(n, 1, 256, 256)``, frequency downwards."""
        normed = self.band_norm(spectrogram.transpose(1, 2)[..., None]).permute(0, 3, 2, 1)
        stretched = functional.interpolate(
            normed, (_STRIPS * _IMAGE, _BANDS), mode="bicubic", align_corners=True
        )
        strips = stretched.view(-1, _STRIPS, _IMAGE, _BANDS)
        return strips.transpose(2, 3).reshape(-1, 1, _IMAGE, _IMAGE)


def log_mel(waveforms: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """Mel bands in decibels ``(n, frames, 64)``, a frame every 10 ms."""
    return decibels(power_spectrogram(waveforms, _FFT, _HOP) @ filters.to(waveforms.device))


class ClapEncoder(Encoder):
    """CLAP as an encoder: one frame per window of 10 s, weighted by how much of it is clip."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: ClapNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)
        pack_dense_layers(self.network, device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """One unit vector per segment."""
        vectors = by_shape(self.network, [self.seen(s.to(self.device)) for s in segments])
        return [
            Encoding(vector[None], torch.tensor([len(segment) / WINDOW_SAMPLES]))
            for vector, segment in zip(vectors, segments, strict=True)
        ]

    def seen(self, waveform: torch.Tensor) -> torch.Tensor:
        """What the network gets of a segment."""
        return repeated(quantised(waveform))


def quantised(waveform: torch.Tensor) -> torch.Tensor:
    """A waveform in steps of 16 bits, as in training."""
    return (waveform.clamp(-1.0, 1.0) * 32767.0).trunc() / 32767.0


def repeated(waveform: torch.Tensor) -> torch.Tensor:
    """10 s of a waveform of at most that length: repeated whole, then zeros."""
    whole = waveform.repeat(WINDOW_SAMPLES // len(waveform))
    return functional.pad(whole, (0, WINDOW_SAMPLES - len(whole)))


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> ClapEncoder:
    """CLAP's audio half with its published weights; the text half is left out."""
    network = load_network(
        spec,
        user_copy,
        ClapNetwork,
        names=_published_name,
        left_out=(
            r"text_model\..*",
            r"text_projection\..*",
            r"logit_scale_[at]",
            r".*\.relative_position_index",
        ),
    )
    return ClapEncoder(spec, device, network)


_OUTSIDE_STAGES = {
    "band_norm": "batch_norm",
    "patches": "patch_embed.proj",
    "patch_norm": "patch_embed.norm",
    "norm": "norm",
}
_IN_BLOCK = {
    "norm1": "layernorm_before",
    "norm2": "layernorm_after",
    "attention.projection": "attention.output.dense",
    "feed_forward.0": "intermediate.dense",
    "feed_forward.2": "output.dense",
}


def _published_name(ours: str) -> str | Sequence[str]:
    module, _, kind = ours.rpartition(".")
    tower = "audio_model.audio_encoder"
    if module in _OUTSIDE_STAGES:
        return f"{tower}.{_OUTSIDE_STAGES[module]}.{kind}"
    if module.startswith("projection."):
        return f"audio_projection.linear{1 if module.endswith('0') else 2}.{kind}"
    if match := re.fullmatch(r"mergings\.(\d)\.(.+)", module):
        return f"{tower}.layers.{match[1]}.downsample.{match[2]}.{kind}"
    match = re.fullmatch(r"stages\.(\d)\.(\d)(?:\.(.+))?", module)
    assert match is not None, ours
    block = f"{tower}.layers.{match[1]}.blocks.{match[2]}"
    if kind == "offset_bias":
        return f"{block}.attention.self.relative_position_bias_table"
    if match[3] == "attention.qkv":
        return [f"{block}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
    return f"{block}.{_IN_BLOCK[match[3]]}.{kind}"
