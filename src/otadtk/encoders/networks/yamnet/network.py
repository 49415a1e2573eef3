"""YAMNet: MobileNet v1 on log-mel patches, trained on AudioSet (Plakal & Ellis, Google, 2019).

A clip of 16 kHz audio becomes patches of 0.96 s every 0.48 s; each patch gives a 1024-d embedding
(the spatial mean of the last layer, after its ReLU) and 521 AudioSet class scores.

Patches of digital silence do not enter the clip mean: YAMNet maps silence to a vector of norm 68
where sound has 11, so a zero-padded tail would drown the sound in every distance.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.batching import in_fixed_batches
from otadtk.encoders.blocks.frontend import frame, log_mel_vggish, pad_to_whole_windows
from otadtk.encoders.blocks.moments import channel_moments
from otadtk.encoders.checkpoints.matching import put_channels_last
from otadtk.encoders.checkpoints.tensorflow_bundle import read_float_variables
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding, LayeredEncoding
from otadtk.errors import WeightsError
from otadtk.weights import Tensors, load_converted

PATCH_SAMPLES = 15_600
"""96 frames of 10 ms and the 15 ms by which the last window reaches over."""
PATCH_HOP_SAMPLES = 7_680
_PATCH_FRAMES, _PATCH_HOP_FRAMES = 96, 48
_WINDOW_SAMPLES, _HOP_SAMPLES = 400, 160
_LOG_OFFSET = 0.001
_SILENCE_PEAK = 1e-4
_BATCH_NORM_EPSILON = 1e-4
_PATCHES_AT_ONCE = 16

_SHOWN = (8, 12, 16, 20)
"""The layers of ``spec.layers``, counted from the stem on: outputs of pointwise convolutions."""
_STEM_CHANNELS = 32
# (stride of the depthwise convolution, channels after the pointwise one) of the 13 blocks
_BLOCKS = (
    (1, 64),
    (2, 128),
    (1, 128),
    (2, 256),
    (1, 256),
    (2, 512),
    (1, 512),
    (1, 512),
    (1, 512),
    (1, 512),
    (1, 512),
    (2, 1024),
    (1, 1024),
)


class YamnetNetwork(nn.Module):
    """MobileNet v1 with batch norm folded into the convolutions: ``(n, 96, 64)`` -> ``(n, 1024)``."""

    def __init__(self) -> None:
        super().__init__()
        layers = [_SameConvolution(1, _STEM_CHANNELS, kernel=3, stride=2)]
        channels = _STEM_CHANNELS
        for stride, wider in _BLOCKS:
            layers.append(
                _SameConvolution(channels, channels, kernel=3, stride=stride, depthwise=True)
            )
            layers.append(_SameConvolution(channels, wider, kernel=1, stride=1))
            channels = wider
        self.layers = nn.ModuleList(layers)
        self.classifier = nn.Linear(channels, 521)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Embeddings of log-mel patches."""
        x = patches[:, None].contiguous(memory_format=torch.channels_last)
        for layer in self.layers:
            x = functional.relu(layer(x), inplace=True)
        return x.mean(dim=(2, 3))

    def with_layers(self, patches: torch.Tensor) -> torch.Tensor:
        """Embeddings, then means and mean squares of ``_SHOWN`` layers, ``(n, 1024 + 2 · 1792)``.

        The last column of the patches ``(n, 96, 65)`` says which of their frames sound.
        """
        sounding = patches[:, :, -1]
        x = patches[:, None, :, :-1].contiguous(memory_format=torch.channels_last)
        moments = []
        for index, layer in enumerate(self.layers):
            x = functional.relu(layer(x), inplace=True)
            if index in _SHOWN:
                moments.append(channel_moments(x, sounding))
        means, squares = zip(*moments, strict=True)
        return torch.cat([x.mean(dim=(2, 3)), *means, *squares], dim=1)


class _SameConvolution(nn.Conv2d):
    """A convolution padded as TensorFlow's "same": with stride 2, one zero right and below."""

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int, depthwise: bool = False
    ) -> None:
        padding = kernel // 2 if stride == 1 else 0
        groups = inputs if depthwise else 1
        super().__init__(inputs, outputs, kernel, stride, padding, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.stride[0] == 2:
            x = functional.pad(x, (0, 1, 0, 1))
        return super().forward(x)


class YamnetEncoder(Encoder):
    """YAMNet as an encoder: one frame per patch, silent patches with weight 0."""

    def __init__(
        self, spec: EncoderSpec, device: torch.device, network: YamnetNetwork, names: list[str]
    ) -> None:
        super().__init__(spec, device)
        self._network = network
        self.class_names = names

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Embeddings of the patches of each segment; patches of all segments share batches."""
        waveforms = self._padded(segments)
        patches = [_patches(waveform) for waveform in waveforms]
        embedded = in_fixed_batches(self._network, torch.cat(patches), _PATCHES_AT_ONCE)
        return _encodings(waveforms, torch.split(embedded, [len(p) for p in patches]))

    @torch.inference_mode()
    def encode_layers(self, segments: Sequence[torch.Tensor]) -> list[LayeredEncoding]:
        """The same in the same pass with the moments of the layers, where the patches sound."""
        waveforms = self._padded(segments)
        patches = [torch.cat([_patches(w), _sounding(w)[..., None]], dim=2) for w in waveforms]
        shown = in_fixed_batches(self._network.with_layers, torch.cat(patches), _PATCHES_AT_ONCE)
        channels = sum(count for _, count in self.spec.layers)
        embedded, means, squares = torch.split(shown, [self.spec.dim, channels, channels], dim=1)
        counts = [len(p) for p in patches]
        return [
            LayeredEncoding(*parts)
            for parts in zip(
                _encodings(waveforms, torch.split(embedded, counts)),
                torch.split(means, counts),
                torch.split(squares, counts),
                strict=True,
            )
        ]

    def padding(self, lengths: Sequence[int]) -> float:
        """The share of patches in the last batch that are nobody's."""
        beyond = (max(0, length - PATCH_SAMPLES) for length in lengths)
        patches = sum(1 + -(-samples // PATCH_HOP_SAMPLES) for samples in beyond)
        missing = -patches % _PATCHES_AT_ONCE
        return missing / max(1, patches + missing)

    def _padded(self, segments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [
            pad_to_whole_windows(segment.to(self.device), PATCH_SAMPLES, PATCH_HOP_SAMPLES)
            for segment in segments
        ]

    def class_logits(self, seen: torch.Tensor) -> torch.Tensor:
        """The logits ``(n, 521)`` of embedded patches."""
        logits: torch.Tensor = self._network.classifier(seen)
        return logits

    @torch.inference_mode()
    def class_scores(self, frames: torch.Tensor) -> torch.Tensor:
        """The 521 AudioSet scores ``(n, 521)`` of embedded patches; ``class_names`` names them."""
        return torch.sigmoid(self.class_logits(frames.to(self.device)))


def _patches(waveform: torch.Tensor) -> torch.Tensor:
    """Log-mel patches ``(n, 96, 64)`` of a waveform padded to whole patches."""
    log_mel = log_mel_vggish(waveform, _LOG_OFFSET)
    return log_mel.unfold(0, _PATCH_FRAMES, _PATCH_HOP_FRAMES).transpose(1, 2)


def _sounding(waveform: torch.Tensor) -> torch.Tensor:
    """1 for each frame ``(n, 96)`` of the patches that is not digital silence, else 0."""
    peaks = frame(waveform.abs(), _WINDOW_SAMPLES, _HOP_SAMPLES).amax(dim=1)
    return (peaks >= _SILENCE_PEAK).float().unfold(0, _PATCH_FRAMES, _PATCH_HOP_FRAMES)


def _encodings(
    waveforms: Sequence[torch.Tensor], embedded: Sequence[torch.Tensor]
) -> list[Encoding]:
    """The frames of each waveform; patches of digital silence have weight 0."""
    peaks = [_patch_peaks(waveform) for waveform in waveforms]
    return [
        Encoding(frames, (peak >= _SILENCE_PEAK).float())
        for frames, peak in zip(embedded, peaks, strict=True)
    ]


def _patch_peaks(waveform: torch.Tensor) -> torch.Tensor:
    return frame(waveform.abs(), PATCH_SAMPLES, PATCH_HOP_SAMPLES).amax(dim=1)


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> YamnetEncoder:
    """YAMNet with its published weights."""
    tensors, texts = load_converted(spec.name, spec.weights, convert, user_copy)
    with torch.device("meta"):
        network = YamnetNetwork()
    network.load_state_dict(tensors, assign=True)
    network = network.eval().requires_grad_(False).to(device)
    put_channels_last(network.layers)  # a third faster on the CPU than the default layout
    return YamnetEncoder(spec, device, network, json.loads(texts["class_names"]))


def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
    """The torch state of the published TensorFlow variables, batch norm folded into convolutions."""
    variables = read_float_variables(
        files["variables.index"], files["variables.data-00000-of-00001"]
    )

    def take(layer: int, variable: str) -> torch.Tensor:
        name = f"layer-1/layer/_func/_yamnet/layer_with_weights-{layer}/{variable}"
        try:
            return torch.from_numpy(variables[f"{name}/.ATTRIBUTES/VARIABLE_VALUE"])
        except KeyError:
            raise WeightsError(f"The YAMNet checkpoint has no variable {name}.") from None

    tensors: Tensors = {}
    for index in range(1 + 2 * len(_BLOCKS)):
        depthwise = index % 2 == 1
        kernel = take(2 * index, "depthwise_kernel" if depthwise else "kernel").double()
        # height, width, in, out -> out, in, height, width; a depthwise kernel has its channels in "in"
        kernel = kernel.permute(2, 3, 0, 1) if depthwise else kernel.permute(3, 2, 0, 1)
        norm = 2 * index + 1
        variance, mean = take(norm, "moving_variance"), take(norm, "moving_mean")
        scale = (variance.double() + _BATCH_NORM_EPSILON).rsqrt()
        bias = take(norm, "beta").double() - mean.double() * scale
        tensors[f"layers.{index}.weight"] = (
            (kernel * scale[:, None, None, None]).float().contiguous()
        )
        tensors[f"layers.{index}.bias"] = bias.float()
    last = 2 * (1 + 2 * len(_BLOCKS))
    tensors["classifier.weight"] = take(last, "kernel").T.contiguous()
    tensors["classifier.bias"] = take(last, "bias")
    with files["yamnet_class_map.csv"].open(newline="", encoding="utf-8") as file:
        names = [row["display_name"] for row in csv.DictReader(file)]
    return tensors, {"class_names": json.dumps(names)}
