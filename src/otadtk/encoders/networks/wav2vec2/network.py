"""wav2vec 2.0 base, fine-tuned on 960 h of speech (Baevski et al., NeurIPS 2020).

Not one of the paper's encoders by name, but the one that otadtk 0.1.2 ran under the name "beats":
here it has its own. A waveform of zero mean and unit variance passes seven convolutions (a frame
every 20 ms) and a transformer; the clip vector is the mean of the last layer over time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.attention import pack_dense_layers
from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.post_norm import DIM, PostNormTransformer
from otadtk.encoders.checkpoints.matching import WEIGHT_NORM_NAMES, fold_weight_norms, load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

LEAST_SAMPLES = 400
"""What the convolutions need for one frame."""
_CHANNELS = 512
# (kernel, stride) of the seven convolutions
_CONVOLUTIONS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))


class Wav2Vec2Network(nn.Module):
    """wav2vec 2.0: waveforms ``(n, samples)`` -> frames ``(n, t, 768)``."""

    def __init__(self) -> None:
        super().__init__()
        inputs = (1, *(_CHANNELS for _ in _CONVOLUTIONS))
        self.convolutions = nn.ModuleList(
            nn.Conv1d(channels, _CHANNELS, kernel, stride, bias=False)
            for channels, (kernel, stride) in zip(inputs, _CONVOLUTIONS, strict=False)
        )
        # every channel normalised over the whole waveform
        self.first_norm = nn.GroupNorm(_CHANNELS, _CHANNELS)
        self.norm = nn.LayerNorm(_CHANNELS)
        self.projection = nn.Linear(_CHANNELS, DIM)
        self.transformer = PostNormTransformer()

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """The frames of the last layer."""
        variance, mean = torch.var_mean(waveforms, dim=1, keepdim=True, correction=0)
        x = ((waveforms - mean) / torch.sqrt(variance + 1e-7))[:, None]
        for number, convolution in enumerate(self.convolutions):
            x = convolution(x)
            x = functional.gelu(self.first_norm(x) if number == 0 else x)
        x = self.projection(self.norm(x.transpose(1, 2)))
        frames: torch.Tensor = self.transformer(x)
        return frames


class Wav2Vec2Encoder(Encoder):
    """wav2vec 2.0 as an encoder: one frame every 20 ms."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: Wav2Vec2Network) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)
        pack_dense_layers(self.network, device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Frames of each segment; segments of one length share batches."""
        frames = by_shape(self.network, [segment.to(self.device) for segment in segments])
        return [Encoding(f, torch.ones(len(f))) for f in frames]


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Wav2Vec2Encoder:
    """wav2vec 2.0 with its published weights; the letters it was fine-tuned for are left out."""
    network = load_network(
        spec,
        user_copy,
        Wav2Vec2Network,
        names=_published_name,
        left_out=(r"lm_head\..*", r"wav2vec2\.masked_spec_embed"),
        also_named=WEIGHT_NORM_NAMES,
    )
    fold_weight_norms(network)
    return Wav2Vec2Encoder(spec, device, network)


_IN_LAYER = {
    "attention.projection": "attention.out_proj",
    "attention_norm": "layer_norm",
    "feed_forward.0": "feed_forward.intermediate_dense",
    "feed_forward.2": "feed_forward.output_dense",
    "final_norm": "final_layer_norm",
}
_OUTSIDE_LAYERS = (
    (r"convolutions\.(\d)", r"feature_extractor.conv_layers.\1.conv"),
    (r"first_norm", r"feature_extractor.conv_layers.0.layer_norm"),
    (r"norm", r"feature_projection.layer_norm"),
    (r"projection", r"feature_projection.projection"),
    (r"transformer\.norm", r"encoder.layer_norm"),
    (r"transformer\.positions", r"encoder.pos_conv_embed.conv"),
)


def _published_name(ours: str) -> str | Sequence[str]:
    for newer, older in WEIGHT_NORM_NAMES.items():
        ours = re.sub(newer, older, ours)
    module, _, kind = ours.rpartition(".")
    match = re.fullmatch(r"transformer\.layers\.(\d+)\.(.+)", module)
    if match is None:
        published = next(
            re.sub(p, t, module) for p, t in _OUTSIDE_LAYERS if re.fullmatch(p, module)
        )
        return f"wav2vec2.{published}.{kind}"
    layer = f"wav2vec2.encoder.layers.{match[1]}"
    if match[2] == "attention.qkv":
        return [f"{layer}.attention.{part}_proj.{kind}" for part in "qkv"]
    return f"{layer}.{_IN_LAYER[match[2]]}.{kind}"
