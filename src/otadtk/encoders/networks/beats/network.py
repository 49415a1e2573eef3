"""BEATs: audio pre-training with acoustic tokenizers (Chen et al., ICML 2023), iteration 3+.

16×16 patches of Kaldi filter-bank energies, eight along frequency, pass a post-norm transformer
with DeepNorm, whose attention adds a learned bias for the distance of two tokens, scaled by a gate
that the query opens. The clip vector is the mean over the tokens of the last layer.

Tokens attend to the whole window, so clips are never padded to share a batch.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import nn

from otadtk.encoders.blocks.attention import SelfAttention, pack_dense_layers
from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import KALDI_HOP, KALDI_WINDOW, kaldi_filter_bank
from otadtk.encoders.blocks.post_norm import DIM, HEADS, LAYERS, PostNormTransformer
from otadtk.encoders.checkpoints.matching import (
    WEIGHT_NORM_NAMES,
    arrange,
    fill,
    fold_weight_norms,
    on_meta,
    read_checkpoint,
)
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import WeightsError
from otadtk.weights import Tensors, load_converted

PATCH = 16
LEAST_SAMPLES = KALDI_WINDOW + (PATCH - 1) * KALDI_HOP
"""16 frames, one patch along time; a remainder of fewer frames is dropped."""
_PATCH_DIM = 512
_BUCKETS = 320
_MEAN, _DEVIATION = 15.41663, 6.55582
_DEEP_NORM_SCALE = (2.0 * LAYERS) ** 0.25
# what the configuration inside the checkpoint must say for this network to be the right one
_CONFIGURATION = {
    "input_patch_size": PATCH,
    "embed_dim": _PATCH_DIM,
    "encoder_layers": LAYERS,
    "encoder_embed_dim": DIM,
    "encoder_ffn_embed_dim": 4 * DIM,
    "encoder_attention_heads": HEADS,
    "activation_fn": "gelu",
    "layer_norm_first": False,
    "deep_norm": True,
    "conv_bias": False,
    "conv_pos": 128,
    "conv_pos_groups": 16,
    "relative_position_embedding": True,
    "gru_rel_pos": True,
    "num_buckets": _BUCKETS,
}


class GatedAttention(SelfAttention):
    """Self-attention whose position bias is scaled by a gate, per head and query."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.gate = nn.Linear(dim // heads, 8)
        self.gate_scale = nn.Parameter(torch.empty(1, heads, 1, 1))

    def position_bias(self, query: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor | None:
        """(a · (b · scale − 1) + 2) · bias, where the query decides a and b."""
        assert bias is not None
        gates = torch.sigmoid(self.gate(query).unflatten(-1, (2, 4)).sum(dim=-1))
        update, reset = gates.chunk(2, dim=-1)
        return (update * (reset * self.gate_scale - 1.0) + 2.0) * bias


class BeatsNetwork(nn.Module):
    """BEATs: filter-bank energies ``(n, frames, 128)`` -> tokens ``(n, frames / 16 · 8, 768)``."""

    def __init__(self, max_distance: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, _PATCH_DIM, PATCH, stride=PATCH, bias=False)
        self.norm = nn.LayerNorm(_PATCH_DIM)
        self.projection = nn.Linear(_PATCH_DIM, DIM)
        self.distance_bias = nn.Embedding(_BUCKETS, HEADS)
        self.transformer = PostNormTransformer(GatedAttention, _DEEP_NORM_SCALE)
        self._max_distance = max_distance

    def forward(self, energies: torch.Tensor) -> torch.Tensor:
        """The tokens of the last layer, all frequencies of a time step side by side."""
        x = self.patches(energies[:, None]).flatten(2).transpose(1, 2)
        x = self.projection(self.norm(x))
        buckets = distance_buckets(x.shape[1], self._max_distance).to(x.device)
        tokens: torch.Tensor = self.transformer(
            x, self.distance_bias(buckets).permute(2, 0, 1)[None]
        )
        return tokens


@lru_cache(maxsize=4)
def distance_buckets(tokens: int, max_distance: int) -> torch.Tensor:
    """The bucket ``(tokens, tokens)`` of the distance from each query to each key.

    Half of the buckets serve keys behind the query, half keys before it; in each half, half of
    them are for exact distances, the others widen logarithmically up to ``max_distance``.
    """
    half, exact = _BUCKETS // 2, _BUCKETS // 4
    index = torch.arange(tokens, device="cpu")
    offset = index[None, :] - index[:, None]
    distance = offset.abs()
    wide = torch.log(distance.float() / exact) / math.log(max_distance / exact) * (half - exact)
    wide = (exact + wide.clamp_min(0.0).long()).clamp_max(half - 1)
    return torch.where(distance < exact, distance, wide) + (offset > 0) * half


class BeatsEncoder(Encoder):
    """BEATs as an encoder: eight frames, one per band of frequencies, every 160 ms."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: BeatsNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)
        pack_dense_layers(self.network, device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Tokens of each segment; segments of one length share batches."""
        tokens = by_shape(self._tokens, [segment.to(self.device) for segment in segments])
        return [Encoding(t, torch.ones(len(t))) for t in tokens]

    def _tokens(self, waveforms: torch.Tensor) -> torch.Tensor:
        # the energies of 16-bit integers, for which the mean and deviation were measured
        energies = kaldi_filter_bank(waveforms * 2.0**15, "povey")
        return self.network((energies - _MEAN) / (2.0 * _DEVIATION))  # type: ignore[no-any-return]


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> BeatsEncoder:
    """BEATs with its published weights."""
    tensors, texts = load_converted(spec.name, spec.weights, convert, user_copy)
    max_distance = int(json.loads(texts["max_distance"]))
    network = fill(spec.name, on_meta(lambda: BeatsNetwork(max_distance)), tensors)
    fold_weight_norms(network)
    return BeatsEncoder(spec, device, network)


def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
    """The tensors of a published checkpoint, and the one number of its configuration that varies."""
    (path,) = files.values()
    content = read_checkpoint(path)
    configuration, table = content.get("cfg"), content.get("model")
    if not isinstance(configuration, dict) or not isinstance(table, dict):
        raise WeightsError(f"{path} is not a BEATs checkpoint: it has no 'cfg' and 'model'.")
    for key, value in _CONFIGURATION.items():
        if configuration.get(key, value) != value:
            raise WeightsError(
                f"{path} is another BEATs: {key} is {configuration[key]}, not {value}."
            )
    max_distance = configuration.get("max_distance")
    if not isinstance(max_distance, int):
        raise WeightsError(f"{path} does not say its max_distance.")
    tensors = arrange(
        "beats",
        table,
        on_meta(lambda: BeatsNetwork(max_distance)),
        _published_name,
        left_out=(r"encoder\.layers\.\d+\.self_attn\.relative_attention_bias\.weight",),
        also_named=WEIGHT_NORM_NAMES,
    )
    return tensors, {"max_distance": json.dumps(max_distance)}


_IN_LAYER = {
    "attention.projection": "self_attn.out_proj",
    "attention.gate": "self_attn.grep_linear",
    "attention_norm": "self_attn_layer_norm",
    "feed_forward.0": "fc1",
    "feed_forward.2": "fc2",
    "final_norm": "final_layer_norm",
}
_OUTSIDE_LAYERS = {
    "patches": "patch_embedding",
    "norm": "layer_norm",
    "projection": "post_extract_proj",
    "distance_bias": "encoder.layers.0.self_attn.relative_attention_bias",
    "transformer.norm": "encoder.layer_norm",
    "transformer.positions": "encoder.pos_conv.0",
}


def _published_name(ours: str) -> str | Sequence[str]:
    for newer, older in WEIGHT_NORM_NAMES.items():
        ours = re.sub(newer, older, ours)
    module, _, kind = ours.rpartition(".")
    match = re.fullmatch(r"transformer\.layers\.(\d+)\.(.+)", module)
    if match is None:
        return f"{_OUTSIDE_LAYERS[module]}.{kind}"
    layer = f"encoder.layers.{match[1]}"
    if kind == "gate_scale":
        return f"{layer}.self_attn.grep_a"
    if match[2] == "attention.qkv":
        return [f"{layer}.self_attn.{part}_proj.{kind}" for part in "qkv"]
    return f"{layer}.{_IN_LAYER[match[2]]}.{kind}"
