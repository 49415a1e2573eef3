"""AST: the Audio Spectrogram Transformer, fine-tuned on AudioSet (Gong et al., Interspeech 2021).

ViT-Base on 16×16 patches that overlap by 6, 101 along time and 12 along frequency, with a class
and a distillation token before them. The clip vector is the mean of all 1214 tokens, as the paper's
package takes it. The classifier sees the mean of the two leading tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import final

import torch
from torch import nn

from otadtk.encoders.blocks.vision_transformer import (
    BANDS,
    FRAMES,
    SpectrogramEncoder,
    SpectrogramTransformer,
)
from otadtk.encoders.checkpoints.matching import load_network
from otadtk.encoders.spec import EncoderSpec

_STRIDE = 10
_DIM, _CLASSES, _EPSILON = 768, 527, 1e-12
_PREFIX = "audio_spectrogram_transformer"
_OUTSIDE_BLOCKS = {
    "leading.0": f"{_PREFIX}.embeddings.cls_token",
    "leading.1": f"{_PREFIX}.embeddings.distillation_token",
    "positions": f"{_PREFIX}.embeddings.position_embeddings",
    "patches.weight": f"{_PREFIX}.embeddings.patch_embeddings.projection.weight",
    "patches.bias": f"{_PREFIX}.embeddings.patch_embeddings.projection.bias",
    "norm.weight": f"{_PREFIX}.layernorm.weight",
    "norm.bias": f"{_PREFIX}.layernorm.bias",
    "classifier.0.weight": "classifier.layernorm.weight",
    "classifier.0.bias": "classifier.layernorm.bias",
    "classifier.1.weight": "classifier.dense.weight",
    "classifier.1.bias": "classifier.dense.bias",
}
_IN_BLOCK = {
    "norm1": "layernorm_before",
    "norm2": "layernorm_after",
    "attention.projection": "attention.output.dense",
    "feed_forward.0": "intermediate.dense",
    "feed_forward.2": "output.dense",
}


class AstNetwork(SpectrogramTransformer):
    """The transformer and its classifier; the rows of the image are frequency."""

    def __init__(self) -> None:
        super().__init__(
            height=BANDS, width=FRAMES, stride=_STRIDE, leading_tokens=2, epsilon=_EPSILON
        )
        self.classifier = nn.Sequential(nn.LayerNorm(_DIM, eps=_EPSILON), nn.Linear(_DIM, _CLASSES))


@final
class AstEncoder(SpectrogramEncoder):
    """AST as an encoder."""

    def embed(self, energies: torch.Tensor) -> torch.Tensor:
        """The mean of all tokens, then that of the two leading ones."""
        tokens: torch.Tensor = self.network(energies.transpose(1, 2))
        return torch.cat([tokens.mean(dim=1), tokens[:, :2].mean(dim=1)], dim=1)

    def class_logits(self, seen: torch.Tensor) -> torch.Tensor:
        """The logits ``(n, 527)`` of means of the leading tokens."""
        assert isinstance(self.network, AstNetwork)
        logits: torch.Tensor = self.network.classifier(seen)
        return logits


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> AstEncoder:
    """AST with its published weights."""
    network = load_network(spec, user_copy, AstNetwork, names=_published_name)
    return AstEncoder(spec, device, network)


def _published_name(ours: str) -> str | Sequence[str]:
    if ours in _OUTSIDE_BLOCKS:
        return _OUTSIDE_BLOCKS[ours]
    match = re.fullmatch(r"blocks\.(\d+)\.(.+)\.(weight|bias)", ours)
    assert match is not None, ours
    block, layer, kind = f"{_PREFIX}.encoder.layer.{match[1]}", match[2], match[3]
    if layer == "attention.qkv":
        return [f"{block}.attention.attention.{part}.{kind}" for part in ("query", "key", "value")]
    return f"{block}.{_IN_BLOCK[layer]}.{kind}"
