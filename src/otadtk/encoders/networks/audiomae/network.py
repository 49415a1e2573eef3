"""AudioMAE: a masked autoencoder that listens, pre-trained on AudioSet (Huang et al., NeurIPS 2022).

The encoder half: ViT-Base on 16×16 patches that do not overlap, 64 along time and 8 along
frequency, with a class token before them. The clip vector is the mean of the 512 patch tokens after
the final norm, without the class token.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

import torch

from otadtk.encoders.blocks.vision_transformer import (
    BANDS,
    FRAMES,
    PATCH,
    SpectrogramEncoder,
    SpectrogramTransformer,
)
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.spec import EncoderSpec

_RENAMED = (
    ("leading.0", "cls_token"),
    ("positions", "pos_embed"),
    ("patches.", "patch_embed.proj."),
    (".attention.projection.", ".attn.proj."),
    (".attention.qkv.", ".attn.qkv."),
    (".feed_forward.0.", ".mlp.fc1."),
    (".feed_forward.2.", ".mlp.fc2."),
)


@final
class AudioMaeEncoder(SpectrogramEncoder):
    """AudioMAE as an encoder."""

    removes_mean = True

    def embed(self, energies: torch.Tensor) -> torch.Tensor:
        """The mean of the patch tokens."""
        tokens: torch.Tensor = self.network(energies)
        return tokens[:, 1:].mean(dim=1)


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> AudioMaeEncoder:
    """AudioMAE with its published weights, in timm's layout."""
    network = load_network(
        spec, user_copy, _network, names=_published_name, also_named={r"^fc_norm\.": "norm."}
    )
    return AudioMaeEncoder(spec, device, network)


def _network() -> SpectrogramTransformer:
    # the rows of the image are time
    return SpectrogramTransformer(
        height=FRAMES, width=BANDS, stride=PATCH, leading_tokens=1, epsilon=1e-6
    )


def _published_name(ours: str) -> str:
    for here, there in _RENAMED:
        ours = ours.replace(here, there)
    return ours
