"""CLAP with feature fusion (Wu et al., ICASSP 2023): LAION's HTSAT that hears long clips whole.

A clip of up to 10 s is heard as by the unfused network, with other mel bands. The spectrogram of a
longer one is shrunk to 10 s; three windows of 10 s are taken from it, one from each third of the
places where a window can start, and laid behind each other with patches three times as long. Both
images are mixed by weights that two small networks compute from their sum: one from each patch, one
from the mean of all (AFF: Dai et al., WACV 2021).

The original draws the windows at random; here each is the middle one of its third.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.frontend import htk_mel_triangles
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.networks.clap.network import (
    MEL_RANGE,
    WINDOW_SAMPLES,
    ClapEncoder,
    ClapNetwork,
    log_mel,
    quantised,
    repeated,
)
from otadtk.encoders.spec import EncoderSpec

_WINDOW_FRAMES = 1001
_PARTS = 3
_DIM, _INNER = 96, 24


class FusedClapNetwork(ClapNetwork):
    """HTSAT, the fusion and the projection: images ``(n, 1 or 4, 256, 256)`` -> ``(n, 512)``."""

    def __init__(self) -> None:
        super().__init__()
        self.long_patches = nn.Conv2d(1, _DIM, (4, 4 * _PARTS), stride=(4, 4 * _PARTS))
        self.each_patch = _weighing()
        self.all_patches = _weighing()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Vectors of unit length."""
        patches = self.patches(images[:, :1])
        if images.shape[1] > 1:
            patches = self._fused(patches, images[:, 1:])
        return self.vectors(patches)

    def images(self, waveform: torch.Tensor) -> torch.Tensor:
        """What the network sees of a waveform: one image, or four of a clip longer than 10 s."""
        filters = htk_mel_triangles(64, 513, 48_000, *MEL_RANGE)
        spectrogram = log_mel(waveform[None], filters)[0]
        frames = len(spectrogram)
        if frames == _WINDOW_FRAMES:
            return self.image(spectrogram[None])[:, 0]
        shrunk = functional.interpolate(
            spectrogram[None, None], (_WINDOW_FRAMES, 64), mode="bilinear", align_corners=False
        )[0, 0]
        parts = [spectrogram[k : k + _WINDOW_FRAMES] for k in _starts(frames)]
        return self.image(torch.stack([shrunk, *parts]))[:, 0]

    def _fused(self, patches: torch.Tensor, parts: torch.Tensor) -> torch.Tensor:
        n, side = len(patches), patches.shape[-1]
        rows = self.long_patches(parts.reshape(-1, 1, *parts.shape[2:]))
        rows = rows.view(n, _PARTS, _DIM, side, -1).permute(0, 2, 3, 1, 4).flatten(3)
        long = functional.pad(rows, (0, side - rows.shape[-1]))
        both = patches + long
        mean = both.mean(dim=(2, 3), keepdim=True)
        share = torch.sigmoid(self.each_patch(both) + self.all_patches(mean))
        return 2.0 * (share * patches + (1.0 - share) * long)


def _weighing() -> nn.Sequential:
    """From channels to the logits of a share for each channel."""
    return nn.Sequential(
        nn.Conv2d(_DIM, _INNER, 1),
        nn.BatchNorm2d(_INNER),
        nn.ReLU(),
        nn.Conv2d(_INNER, _DIM, 1),
        nn.BatchNorm2d(_DIM),
    )


def _starts(frames: int) -> list[int]:
    """The first frames of three windows: the middle one of each third of all places, or else 0."""
    places = frames - _WINDOW_FRAMES + 1
    found, start = [], 0
    for part in range(_PARTS):
        length = places // _PARTS + (part < places % _PARTS)
        found.append(start + length // 2 if length else 0)
        start += length
    return found


class FusedClapEncoder(ClapEncoder):
    """Fused CLAP as an encoder: one frame per clip, or per five minutes of a very long one."""

    network: FusedClapNetwork

    def seen(self, waveform: torch.Tensor) -> torch.Tensor:
        """The images of a segment."""
        heard = quantised(waveform)
        return self.network.images(heard if len(heard) > WINDOW_SAMPLES else repeated(heard))


def load(
    spec: EncoderSpec, device: torch.device, user_copy: Path | None = None
) -> FusedClapEncoder:
    """Fused CLAP's audio half with its published weights; the text half is left out."""
    network = load_network(
        spec,
        user_copy,
        FusedClapNetwork,
        names=_published_name,
        left_out=(
            r"text_(branch|projection|transform)\..*",
            r"audio_transform\..*",
            r"logit_scale_[at]",
            r"audio_branch\.(spectrogram_extractor|logmel_extractor|tscam_conv|head)\..*",
            r".*\.(relative_position_index|attn_mask)",
        ),
        also_named={"^module\\.": ""},
        inside="state_dict",
    )
    return FusedClapEncoder(spec, device, network)


_OUTSIDE_STAGES = {
    "band_norm": "bn0",
    "patches": "patch_embed.proj",
    "patch_norm": "patch_embed.norm",
    "long_patches": "patch_embed.mel_conv2d",
    "norm": "norm",
}
_IN_BLOCK = {
    "norm1": "norm1",
    "norm2": "norm2",
    "attention.qkv": "attn.qkv",
    "attention.projection": "attn.proj",
    "feed_forward.0": "mlp.fc1",
    "feed_forward.2": "mlp.fc2",
}


def _published_name(ours: str) -> str:
    module, _, kind = ours.rpartition(".")
    tower = "audio_branch"
    if module in _OUTSIDE_STAGES:
        return f"{tower}.{_OUTSIDE_STAGES[module]}.{kind}"
    if module.startswith("projection."):
        return f"audio_{ours}"
    if match := re.fullmatch(r"each_patch\.(\d)", module):
        return f"{tower}.patch_embed.fusion_model.local_att.{match[1]}.{kind}"
    if match := re.fullmatch(r"all_patches\.(\d)", module):  # the mean is a layer of its own there
        return f"{tower}.patch_embed.fusion_model.global_att.{int(match[1]) + 1}.{kind}"
    if match := re.fullmatch(r"mergings\.(\d)\.(.+)", module):
        return f"{tower}.layers.{match[1]}.downsample.{match[2]}.{kind}"
    match = re.fullmatch(r"stages\.(\d)\.(\d)(?:\.(.+))?", module)
    assert match is not None, ours
    block = f"{tower}.layers.{match[1]}.blocks.{match[2]}"
    if kind == "offset_bias":
        return f"{block}.attn.relative_position_bias_table"
    return f"{block}.{_IN_BLOCK[match[3]]}.{kind}"
