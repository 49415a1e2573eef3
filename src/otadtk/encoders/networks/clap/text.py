"""The text half of CLAP: RoBERTa-base and a projection into the space that it shares with audio.

A caption becomes tokens, twelve post-norm layers of 768 dimensions see them, and the first token
goes through a dense layer with tanh and two dense layers with ReLU between to 512 dimensions. Each
caption is seen alone, so nothing is padded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.attention import SelfAttention
from otadtk.encoders.blocks.post_norm import DIM, HEADS, LAYERS, PostNormLayer
from otadtk.encoders.checkpoints.matching import arrange, fill, on_meta, table_inside
from otadtk.encoders.networks.clap import FUSED_SPEC, SPEC
from otadtk.encoders.spec import EncoderSpec
from otadtk.errors import UsageError
from otadtk.weights import HuggingFaceFile, Tensors, WeightFile, load_converted

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_TOKENS = 77
"""Of a caption with its two marks, as CLAP was trained."""
_WORDS, _POSITIONS, _EMBEDDING = 50_265, 514, 512
_FIRST_POSITION = 2
"""RoBERTa counts positions from here: two are kept for padding."""


@dataclass(frozen=True)
class _Published:
    """How the text half of a checkpoint is published."""

    spec: EncoderSpec
    """Named for the text half, with its two files: the checkpoint and the tokenizer."""
    epsilon: float
    """Of its layer norms."""
    tower: str
    projections: tuple[str, str]
    inside: str | None
    """The key under which the file keeps its tensors."""
    left_out: tuple[str, ...]


def _text_spec(spec: EncoderSpec) -> EncoderSpec:
    """The spec of the text half of an encoder; both checkpoints have the tokenizer of RoBERTa."""
    source = SPEC.weights[0].source
    assert isinstance(source, HuggingFaceFile)
    tokenizer = WeightFile(
        "tokenizer.json",
        HuggingFaceFile(source.repository, source.revision, "tokenizer.json"),
        f"revision:{source.revision}",
    )
    return replace(spec, name=f"{spec.name}_text", weights=(*spec.weights, tokenizer))


PUBLISHED = {
    SPEC.name: _Published(
        _text_spec(SPEC),
        epsilon=1e-12,
        tower="text_model",
        projections=("text_projection.linear1", "text_projection.linear2"),
        inside=None,
        left_out=(r"audio_(model|projection)\..*",),
    ),
    FUSED_SPEC.name: _Published(
        _text_spec(FUSED_SPEC),
        epsilon=1e-5,
        tower="text_branch",
        projections=("text_projection.0", "text_projection.2"),
        inside="state_dict",
        left_out=(r"audio_(branch|projection|transform)\..*", r"text_transform\..*"),
    ),
}
"""By the name of the encoder. transformers and laion_clap differ in their layer norms, too."""


class ClapTextNetwork(nn.Module):
    """Tokens ``(n, t)`` of captions -> unit vectors ``(n, 512)``."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.words = nn.Embedding(_WORDS, DIM)
        self.positions = nn.Embedding(_POSITIONS, DIM)
        self.kinds = nn.Embedding(1, DIM)
        self.norm = nn.LayerNorm(DIM, eps=epsilon)
        self.layers = nn.ModuleList(
            PostNormLayer(SelfAttention(DIM, HEADS), 1.0, epsilon) for _ in range(LAYERS)
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
    def encode(self, captions: Sequence[str], *, cut: bool = False) -> torch.Tensor:
        """Unit vectors ``(n, 512)``; a UsageError for a caption that is empty or too long.

        With ``cut``, the tokens of a long caption that do not fit are left out.
        """
        return torch.cat([self._network(self._tokens(caption, cut)) for caption in captions])

    def _tokens(self, caption: str, cut: bool) -> torch.Tensor:
        if not caption.strip():
            raise UsageError("A caption is empty.")
        numbers = self._tokenizer.encode(caption).ids
        if len(numbers) > MOST_TOKENS and cut:
            numbers = [*numbers[: MOST_TOKENS - 1], numbers[-1]]  # the last one marks the end
        if len(numbers) > MOST_TOKENS:
            raise UsageError(
                f"A caption has {len(numbers)} tokens, and CLAP reads {MOST_TOKENS} at most: shorten "
                f"{caption[:60]!r}… or add --long-captions cut."
            )
        return torch.tensor([numbers])


def load_text(model: str = SPEC.name, user_copy: Path | None = None) -> ClapText:
    """The text half of a CLAP encoder with its published weights and tokenizer, on the CPU."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError(
            'Captions need tokenizers: pip install "otadtk-audio[captions]".'
        ) from None
    published = PUBLISHED[model]
    name = published.spec.name

    def build() -> ClapTextNetwork:
        return ClapTextNetwork(published.epsilon)

    def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
        checkpoint, tokenizer = (files[file.name] for file in published.spec.weights)
        tensors = arrange(
            name,
            table_inside(checkpoint, published.inside),
            on_meta(build),
            partial(_published_name, published),
            (*published.left_out, r"logit_scale_[at]", r".*\.(position|token_type)_ids"),
            {"^module\\.": ""},
        )
        return tensors, {"tokenizer": tokenizer.read_text(encoding="utf-8")}

    tensors, texts = load_converted(name, published.spec.weights, convert, user_copy)
    network = fill(name, on_meta(build), tensors)
    tokenizer = Tokenizer.from_str(texts["tokenizer"])
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return ClapText(network, tokenizer)


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


def _published_name(published: _Published, ours: str) -> str | Sequence[str]:
    module, _, kind = ours.rpartition(".")
    if module in _OUTSIDE_LAYERS:
        return f"{published.tower}.{_OUTSIDE_LAYERS[module]}.{kind}"
    if module.startswith("projection."):
        return f"{published.projections[0 if module.endswith('0') else 1]}.{kind}"
    match = re.fullmatch(r"layers\.(\d+)\.(.+)", module)
    assert match is not None, ours
    layer = f"{published.tower}.encoder.layer.{match[1]}"
    if match[2] == "attention.qkv":
        return [f"{layer}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
    return f"{layer}.{_IN_LAYER[match[2]]}.{kind}"
