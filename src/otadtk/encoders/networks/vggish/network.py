"""VGGish: a VGG network on log-mel examples, trained on YouTube-8M (Hershey et al., ICASSP 2017).

A clip of 16 kHz audio becomes examples of 0.96 s that do not overlap; what remains after the last
whole one is dropped. Each example gives a 128-d embedding, taken after the final ReLU as the
paper's package takes it (kadtk and fadtk take it before); the clip vector is their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from otadtk.encoders.blocks.batching import by_shape, in_fixed_batches
from otadtk.encoders.blocks.frontend import log_mel_vggish
from otadtk.encoders.blocks.moments import channel_moments
from otadtk.encoders.checkpoints.matching import load_network, put_channels_last
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding, LayeredEncoding

EXAMPLE_FRAMES = 96
_LOG_OFFSET = 0.01
_EXAMPLES_AT_ONCE = 16
# channels after each convolution; None stands for max pooling by 2 in time and frequency
_LAYERS = (64, None, 128, None, 256, 256, None, 512, 512, None)

_SHOWN = (9, 14)
"""The places of ``spec.layers`` among the features: the ReLUs before the last two poolings."""


class VggishNetwork(nn.Module):
    """VGG configuration A with one input channel: ``(n, 96, 64)`` -> ``(n, 128)``."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 1
        for wider in _LAYERS:
            if wider is None:
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(channels, wider, 3, padding=1), nn.ReLU(inplace=True)]
            channels = wider
        self.features = nn.Sequential(*layers)
        self.embeddings = nn.Sequential(
            nn.Linear(6 * 4 * 512, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, 128),
            nn.ReLU(inplace=True),
        )

    def forward(self, examples: torch.Tensor) -> torch.Tensor:
        """Embeddings of log-mel examples."""
        embedded: torch.Tensor = self.embeddings(self.convolve(examples))
        return embedded

    def layer_moments(self, examples: torch.Tensor) -> torch.Tensor:
        """Means, then mean squares, of the layers of ``spec.layers``."""
        x, moments = examples[:, None], []
        for index, layer in enumerate(self.features):
            x = layer(x)
            if index in _SHOWN:
                moments.append(channel_moments(x))
        means, squares = zip(*moments, strict=True)
        return torch.cat([*means, *squares], dim=1)

    def convolve(self, examples: torch.Tensor) -> torch.Tensor:
        """What the dense layers see of examples, ``(n, 12288)``."""
        x: torch.Tensor = self.features(examples[:, None])
        # the dense weights come from TensorFlow, which has the channels last
        return x.permute(0, 2, 3, 1).flatten(1)


class VggishEncoder(Encoder):
    """VGGish as an encoder: one frame per example of 0.96 s."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: VggishNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Embeddings of the examples of each segment; examples of all segments share batches."""
        examples = [_examples(segment.to(self.device)) for segment in segments]
        convolved = torch.stack(by_shape(self.network.convolve, list(torch.cat(examples))))
        # the dense layers are a quarter of a gigabyte: read them for many examples at once
        embedded = in_fixed_batches(self.network.embeddings, convolved, _EXAMPLES_AT_ONCE)
        split = torch.split(embedded, [len(e) for e in examples])
        return [Encoding(frames, torch.ones(len(frames))) for frames in split]

    @torch.inference_mode()
    def encode_layers(self, segments: Sequence[torch.Tensor]) -> list[LayeredEncoding]:
        """The same with the moments of the last convolutions before the last two poolings."""
        found = []
        encodings = self.encode_segments(segments)
        for segment, encoding in zip(segments, encodings, strict=True):
            shown = by_shape(self.network.layer_moments, list(_examples(segment.to(self.device))))
            means, squares = torch.stack(shown).chunk(2, dim=1)
            found.append(LayeredEncoding(encoding, means, squares))
        return found


def _examples(waveform: torch.Tensor) -> torch.Tensor:
    """Log-mel examples ``(n, 96, 64)`` of a waveform, a remainder dropped."""
    log_mel = log_mel_vggish(waveform, _LOG_OFFSET)
    return log_mel.unfold(0, EXAMPLE_FRAMES, EXAMPLE_FRAMES).transpose(1, 2)


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> VggishEncoder:
    """VGGish with its published weights, ported from TensorFlow by H. Taylor."""
    network = load_network(spec, user_copy, VggishNetwork)
    put_channels_last(network.features)  # a quarter faster on the CPU
    return VggishEncoder(spec, device, network)
