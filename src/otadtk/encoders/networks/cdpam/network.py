"""CDPAM: a network trained on human judgements of audio differences (Manocha et al., ICASSP 2021).

Sixteen convolutions on the waveform at 22.05 kHz, in 16-bit steps. Half of the channels describe
the acoustics ("how it sounds"), half the content ("what it is"); each half is averaged over time
and scaled to unit length. A clip is cut into windows of 1 s, as fadtk does, and its vector is their
mean by length. The original takes 1.8 s of one core for 1 s of audio; here the convolutions run in
the frequency domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.fourier import FourierConvolution
from otadtk.encoders.checkpoints.matching import fused, load_network
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

WINDOW_SAMPLES = 22_050
_LAYERS, _CHANNELS, _TAPS = 16, 64, 15
_HALVING = 4
"""After so many layers the time is halved; the last of them doubles the channels."""


class CdpamNetwork(nn.Module):
    """Waveforms ``(n, samples)`` in 16-bit steps -> ``(n, 1024)``, acoustics first."""

    def __init__(self) -> None:
        super().__init__()
        layers, norms, inputs, outputs = [], [], 1, _CHANNELS
        for number in range(1, _LAYERS + 1):
            outputs = 2 * outputs if number % _HALVING == 0 else outputs
            layers.append(nn.Conv1d(inputs, outputs, _TAPS, padding=_TAPS // 2))
            norms.append(nn.BatchNorm1d(outputs))
            inputs = outputs
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(norms)

    def forward(self, waveforms: torch.Tensor) -> torch.Tensor:
        """The mean over time of the last layer."""
        # the first layer has one input: a plain convolution; the others have the channels last
        x = functional.leaky_relu(self.layers[0](waveforms[:, None]), 0.1).transpose(1, 2)
        for number, layer in enumerate(self.layers[1:], start=2):
            x = functional.leaky_relu(layer(x), 0.1, inplace=True)
            if number % _HALVING == 0:
                x = x[:, ::2]
        return x.mean(dim=1)

    def prepare(self, half: slice) -> None:
        """Fold the batch norms, keep one half of the last layer, and go to the frequency domain."""
        plain = [fused(layer, norm) for layer, norm in zip(self.layers, self.norms, strict=True)]
        last = plain[-1]
        assert isinstance(last, nn.Conv1d) and last.bias is not None
        last.weight, last.bias = nn.Parameter(last.weight[half]), nn.Parameter(last.bias[half])
        self.layers = nn.ModuleList([plain[0], *(FourierConvolution(layer) for layer in plain[1:])])
        self.norms = nn.ModuleList()
        self.requires_grad_(False)


class CdpamEncoder(Encoder):
    """CDPAM as an encoder: one frame per window of 1 s, weighted by its length."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: CdpamNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Unit vectors of the windows of each segment."""
        cut = [
            torch.split(torch.round(s.to(self.device) * 32_768.0), WINDOW_SAMPLES) for s in segments
        ]
        vectors = iter(by_shape(self.network, [window for windows in cut for window in windows]))
        encodings = []
        for windows in cut:
            frames = torch.stack([next(vectors) for _ in windows])
            weights = torch.tensor([len(window) / WINDOW_SAMPLES for window in windows])
            encodings.append(Encoding(functional.normalize(frames, dim=1), weights))
        return encodings


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> CdpamEncoder:
    """The acoustic or the content half, by the name of the spec, with its published weights."""
    network = load_network(
        spec,
        user_copy,
        CdpamNetwork,
        names=_published_name,
        left_out=(r"model_dist\..*", r"model_classif\..*"),
        inside="state",
    )
    content = spec.name == "cdpam_content"
    network.prepare(slice(512, 1024) if content else slice(0, 512))
    return CdpamEncoder(spec, device, network)


def _published_name(ours: str) -> str:
    part, _, rest = ours.partition(".")
    return f"base_encoder.{'encoder' if part == 'layers' else 'ebatch'}.{rest}"
