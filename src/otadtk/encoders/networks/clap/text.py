"""The text half of CLAP: RoBERTa-base and a projection into the space that it shares with audio.

A caption becomes tokens, twelve post-norm layers of 768 dimensions see them, and the first token
goes through a dense layer with tanh and two dense layers with ReLU between to 512 dimensions. Each
caption is seen alone, so nothing is padded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.attention import SelfAttention
from otadtk.encoders.blocks.post_norm import DIM, HEADS, LAYERS, PostNormLayer
from otadtk.encoders.checkpoints.matching import arrange, fill, on_meta, read_checkpoint
from otadtk.encoders.networks.clap import SPEC
from otadtk.errors import UsageError
from otadtk.weights import HuggingFaceFile, Tensors, WeightFile, load_converted

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_TOKENS = 77
"""Of a caption with its two marks, as CLAP was trained."""
_WORDS, _POSITIONS, _EMBEDDING = 50_265, 514, 512
_FIRST_POSITION = 2
"""RoBERTa counts positions from here: two are kept for padding."""
_EPSILON = 1e-12
_CHECKPOINT = SPEC.weights[0]
_SOURCE = _CHECKPOINT.source
assert isinstance(_SOURCE, HuggingFaceFile)
TEXT_SPEC = replace(
    SPEC,
    name="clap_text",
    weights=(
        _CHECKPOINT,
        WeightFile(
            "tokenizer.json",
            HuggingFaceFile(_SOURCE.repository, _SOURCE.revision, "tokenizer.json"),
            f"revision:{_SOURCE.revision}",
        ),
    ),
)


class ClapTextNetwork(nn.Module):
    """Tokens ``(n, t)`` of captions -> unit vectors ``(n, 512)``."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(_WORDS, DIM)
        self.positions = nn.Embedding(_POSITIONS, DIM)
        self.kinds = nn.Embedding(1, DIM)
        self.norm = nn.LayerNorm(DIM, eps=_EPSILON)
        self.layers = nn.ModuleList(
            PostNormLayer(SelfAttention(DIM, HEADS), 1.0, _EPSILON) for _ in range(LAYERS)
        )
        self.pooler = nn.Linear(DIM, DIM)
        self.projection = nn.Sequential(
            nn.Linear(DIM, _EMBEDDING), nn.ReLU(), nn.Linear(_EMBEDDING, _EMBEDDING)
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Vectors of unit length."""
        places = torch.arange(tokens.shape[1], device=tokens.device) + _FIRST_POSITION
        x = self.norm(self.words(tokens) + self.positions(places) + self.kinds.weight[0])
        for layer in self.layers:
            x = layer(x, None)
        return functional.normalize(self.projection(torch.tanh(self.pooler(x[:, 0]))), dim=-1)


class ClapText:
    """Captions to vectors in CLAP's space."""

    def __init__(self, network: ClapTextNetwork, tokenizer: Tokenizer) -> None:
        self._network, self._tokenizer = network, tokenizer

    @torch.inference_mode()
    def encode(self, captions: Sequence[str]) -> torch.Tensor:
        """Unit vectors ``(n, 512)``; a UsageError for a caption that is empty or too long."""
        return torch.cat([self._network(self._tokens(caption)) for caption in captions])

    def _tokens(self, caption: str) -> torch.Tensor:
        if not caption.strip():
            raise UsageError("A caption is empty.")
        numbers = self._tokenizer.encode(caption).ids
        if len(numbers) > MOST_TOKENS:
            raise UsageError(
                f"A caption has {len(numbers)} tokens, and CLAP reads {MOST_TOKENS} at most: shorten "
                f"{caption[:60]!r}…"
            )
        return torch.tensor([numbers])


def load_text(user_copy: Path | None = None) -> ClapText:
    """CLAP's text half with its published weights and tokenizer, on the CPU."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError(
            'Captions need tokenizers: pip install "otadtk-audio[captions]".'
        ) from None
    tensors, texts = load_converted(TEXT_SPEC.name, TEXT_SPEC.weights, _convert, user_copy)
    network = fill(TEXT_SPEC.name, on_meta(ClapTextNetwork), tensors)
    tokenizer = Tokenizer.from_str(texts["tokenizer"])
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return ClapText(network, tokenizer)


def _convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
    published = read_checkpoint(files[_CHECKPOINT.name])
    left_out = (
        r"audio_(model|projection)\..*",
        r"logit_scale_[at]",
        r"text_model\.embeddings\.(position|token_type)_ids",
    )
    network = on_meta(ClapTextNetwork)
    tensors = arrange(TEXT_SPEC.name, published, network, _published_name, left_out)
    return tensors, {"tokenizer": files["tokenizer.json"].read_text(encoding="utf-8")}


_OUTSIDE_LAYERS = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "kinds": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "pooler": "pooler.dense",
}
_IN_LAYER = {
    "attention.projection": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.0": "intermediate.dense",
    "feed_forward.2": "output.dense",
    "final_norm": "output.LayerNorm",
}


def _published_name(ours: str) -> str | Sequence[str]:
    module, _, kind = ours.rpartition(".")
    if module in _OUTSIDE_LAYERS:
        return f"text_model.{_OUTSIDE_LAYERS[module]}.{kind}"
    if module.startswith("projection."):
        return f"text_projection.linear{1 if module.endswith('0') else 2}.{kind}"
    match = re.fullmatch(r"layers\.(\d+)\.(.+)", module)
    assert match is not None, ours
    layer = f"text_model.encoder.layer.{match[1]}"
    if match[2] == "attention.qkv":
        return [f"{layer}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
    return f"{layer}.{_IN_LAYER[match[2]]}.{kind}"
