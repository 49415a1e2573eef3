"""musicnn: a network with musically motivated kernels that tags songs (Pons & Serra, ISMIR 2019).

A clip of 16 kHz audio becomes patches of 187 frames (2.99 s) of 96 mel bands. Tall kernels see
timbre, long ones rhythm; three more convolutions and the maximum and mean over time follow. The
200-d embedding of a patch is the layer before the tags. What remains after the last whole patch is
dropped, as the package does; the clip vector is the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import frame, slaney_mel_matrix
from otadtk.encoders.checkpoints.matching import arrange, fill, on_meta
from otadtk.encoders.checkpoints.tensorflow_bundle import read_float_variables
from otadtk.encoders.networks.musicnn import FRAME_SAMPLES, PATCH_FRAMES
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding, LayeredEncoding
from otadtk.weights import Tensors, load_converted

_FFT, _BANDS, _NORM_EPSILON = 512, 96, 1e-3
# (time, frequency) of each kernel and how many there are
_FRONT = (((7, 38), 204), ((7, 67), 204), ((128, 1), 51), ((64, 1), 51), ((32, 1), 51))
_FRONT_CHANNELS = sum(count for _, count in _FRONT)
_MIDDLE, _EMBEDDING, _TAGS = 64, 200, 50
_POOLED = 2 * (_FRONT_CHANNELS + 3 * _MIDDLE)


class MusicnnNetwork(nn.Module):
    """musicnn: log-mel patches ``(n, 187, 96)`` -> embeddings ``(n, 200)``."""

    def __init__(self) -> None:
        super().__init__()
        inputs = (_FRONT_CHANNELS, _MIDDLE, _MIDDLE)
        self.convolutions = nn.ModuleList(
            [nn.Conv2d(1, count, kernel) for kernel, count in _FRONT]
            + [nn.Conv2d(1, _MIDDLE, (7, width)) for width in inputs]
        )
        norms = [1, *(count for _, count in _FRONT), *(_MIDDLE for _ in inputs)]
        self.norms = nn.ModuleList(nn.BatchNorm2d(count, eps=_NORM_EPSILON) for count in norms)
        self.pooled_norm = nn.BatchNorm1d(_POOLED, eps=_NORM_EPSILON)
        self.dense = nn.Linear(_POOLED, _EMBEDDING)
        self.dense_norm = nn.BatchNorm1d(_EMBEDDING, eps=_NORM_EPSILON)
        self.tags = nn.Linear(_EMBEDDING, _TAGS)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Embeddings of patches."""
        return self._embedded(patches)[0]

    def layered(self, patches: torch.Tensor) -> torch.Tensor:
        """Embeddings, and behind each the mean and the mean square over time of every channel."""
        embedding, activations = self._embedded(patches)
        rows = torch.cat(activations, dim=1)
        return torch.cat([embedding, rows.mean(dim=2), rows.square().mean(dim=2)], dim=1)

    def _embedded(self, patches: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Embeddings, and what each convolution sees ``(n, channels, time)``: it is not negative."""
        x = self.norms[0](patches[:, None])
        seen = [self._convolved(i, x) for i in range(len(_FRONT))]
        front = [self.norms[i + 1](y).amax(dim=3) for i, y in enumerate(seen)]
        activations = [y.amax(dim=3) for y in seen]
        found = [torch.cat(front, dim=1)]  # (n, channels, time)
        for i in range(len(_FRONT), len(self.convolutions)):
            # the channels so far lie along the second axis of the kernel
            y = self._convolved(i, found[-1].transpose(1, 2)[:, None])
            activations.append(y.squeeze(3))
            y = self.norms[i + 1](y).squeeze(3)
            found.append(y if len(found) == 1 else y + found[-1])
        features = torch.cat(found, dim=1)
        pooled = torch.stack([features.amax(dim=2), features.mean(dim=2)], dim=2).flatten(1)
        embedded = functional.relu(self.dense(self.pooled_norm(pooled)))
        return self.dense_norm(embedded), activations

    def _convolved(self, index: int, x: torch.Tensor) -> torch.Tensor:
        """Convolution and ReLU, with zeros at both ends of the time."""
        convolution = self.convolutions[index]
        assert isinstance(convolution, nn.Conv2d)
        missing = convolution.kernel_size[0] - 1
        x = functional.pad(x, (0, 0, missing // 2, missing - missing // 2))
        return functional.relu(convolution(x), inplace=True)


class MusicnnEncoder(Encoder):
    """musicnn as an encoder: one frame per patch."""

    def __init__(self, spec: EncoderSpec, device: torch.device, network: MusicnnNetwork) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Embeddings of the whole patches of each segment."""
        rows = self._by_patch(self.network, segments)
        return [Encoding(frames, torch.ones(len(frames))) for frames in rows]

    @torch.inference_mode()
    def encode_layers(self, segments: Sequence[torch.Tensor]) -> list[LayeredEncoding]:
        """The same with the moments of every channel of the convolutions, over the time of a patch."""
        channels = _FRONT_CHANNELS + 3 * _MIDDLE
        found = []
        for rows in self._by_patch(self.network.layered, segments):
            frames, means, squares = torch.split(rows, [_EMBEDDING, channels, channels], dim=1)
            found.append(LayeredEncoding(Encoding(frames, torch.ones(len(frames))), means, squares))
        return found

    def _by_patch(
        self,
        network: Callable[[torch.Tensor], torch.Tensor],
        segments: Sequence[torch.Tensor],
    ) -> Sequence[torch.Tensor]:
        """What the network says of the whole patches of each segment."""
        patches = [_patches(segment.to(self.device)) for segment in segments]
        rows = torch.stack(by_shape(network, list(torch.cat(patches))))
        return torch.split(rows, [len(p) for p in patches])


def _patches(waveform: torch.Tensor) -> torch.Tensor:
    """Log-mel patches ``(n, 187, 96)`` of a segment, which begins with the first frame's first half."""
    frames = len(waveform) // FRAME_SAMPLES
    missing = PATCH_FRAMES - frames
    waveform = functional.pad(waveform, (0, max(missing, 0) * FRAME_SAMPLES + FRAME_SAMPLES))
    window = torch.hann_window(_FFT, device=waveform.device)
    spectrum = torch.fft.rfft(frame(waveform, _FFT, FRAME_SAMPLES) * window)
    power = torch.view_as_real(spectrum).square().sum(dim=-1)
    filters = slaney_mel_matrix(_BANDS, _FFT // 2 + 1, 16_000, 0.0, 8000.0).to(waveform.device)
    log_mel = _compressed(power @ filters)
    return log_mel.unfold(0, PATCH_FRAMES, PATCH_FRAMES).transpose(1, 2)


def _compressed(mel: torch.Tensor) -> torch.Tensor:
    """log10(10000 · mel + 1), where mel has half precision, as in training."""
    rounded = mel.clamp_max(torch.finfo(torch.float16).max).half().float()
    return torch.log10(10_000.0 * rounded + 1.0)


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> MusicnnEncoder:
    """Musicnn with the weights for the Million Song Dataset's tags."""
    tensors, _ = load_converted(spec.name, spec.weights, convert, user_copy)
    return MusicnnEncoder(spec, device, fill(spec.name, on_meta(MusicnnNetwork), tensors))


def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
    """The torch state of the published TensorFlow variables; the optimiser's are left out."""
    index, data = sorted(files.values(), key=lambda path: "data" in path.name)
    published = {
        name: _as_torch(torch.from_numpy(values))
        for name, values in read_float_variables(index, data).items()
    }
    left_out = (r".*/Adam(_1)?", r"beta[12]_power")
    return arrange("musicnn", published, on_meta(MusicnnNetwork), _published_name, left_out), {}


def _as_torch(tensor: torch.Tensor) -> torch.Tensor:
    """Kernels with the outputs first, as torch has them."""
    return (
        tensor.permute(3, 2, 0, 1) if tensor.ndim == 4 else tensor.T if tensor.ndim == 2 else tensor
    )


_KINDS = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "moving_mean",
    "running_var": "moving_variance",
}


_NUMBERED = {
    "dense": "dense",
    "tags": "dense_1",
    "pooled_norm": "batch_normalization_9",
    "dense_norm": "batch_normalization_10",
}


def _published_name(ours: str) -> str:
    module, _, kind = ours.rpartition(".")
    list_name, _, number = module.partition(".")
    if number:
        name = "conv2d" if list_name == "convolutions" else "batch_normalization"
        name = name if number == "0" else f"{name}_{number}"
    else:
        name = _NUMBERED[module]
    if "normalization" in name:
        return f"{name}/{_KINDS[kind]}"
    return f"{name}/{'kernel' if kind == 'weight' else 'bias'}"
