"""The vision transformer on a spectrogram that AST and AudioMAE share: ViT-Base, 10.24 s at a time.

Both look at 1024 frames of 128 Kaldi filter-bank energies through 16×16 patches. They differ in the
stride of the patches, in the number of leading tokens that belong to no patch, and in the pooling.
A shorter clip gets zeros behind its energies, a longer one is cut into windows of 1024 frames.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.blocks.attention import FeedForward, SelfAttention, pack_dense_layers
from otadtk.encoders.blocks.batching import by_shape
from otadtk.encoders.blocks.frontend import KALDI_HOP, KALDI_WINDOW, kaldi_filter_bank, kaldi_frames
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

FRAMES, BANDS, PATCH = 1024, 128, 16
WINDOW_SAMPLES = KALDI_WINDOW + (FRAMES - 1) * KALDI_HOP
"""10.255 s: what 1024 frames cover."""
WINDOW_OVERLAP = KALDI_WINDOW - KALDI_HOP
"""So that the next window begins with the next frame."""
_DIM, _HEADS, _BLOCKS = 768, 12, 12
# the mean and deviation of AudioSet's filter-bank energies; the networks see half deviations
_MEAN, _DEVIATION = -4.2677393, 4.5689974


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(_DIM, eps=epsilon)
        self.attention = SelfAttention(_DIM, _HEADS)
        self.norm2 = nn.LayerNorm(_DIM, eps=epsilon)
        self.feed_forward = FeedForward(_DIM, 4 * _DIM)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens of the same shape."""
        # the sums are written over what the last layer of each part has just made
        x = self.attention(self.norm1(x)).add_(x)
        out: torch.Tensor = self.feed_forward(self.norm2(x)).add_(x)
        return out


class SpectrogramTransformer(nn.Module):
    """ViT-Base on ``(n, height, width)`` images: all tokens after the final norm ``(n, t, 768)``."""

    def __init__(
        self, *, height: int, width: int, stride: int, leading_tokens: int, epsilon: float
    ) -> None:
        super().__init__()
        rows, columns = ((side - PATCH) // stride + 1 for side in (height, width))
        self.patches = nn.Conv2d(1, _DIM, PATCH, stride=stride)
        self.leading = nn.ParameterList(
            nn.Parameter(torch.empty(1, 1, _DIM)) for _ in range(leading_tokens)
        )
        self.positions = nn.Parameter(torch.empty(1, leading_tokens + rows * columns, _DIM))
        self.blocks = nn.ModuleList(Block(epsilon) for _ in range(_BLOCKS))
        self.norm = nn.LayerNorm(_DIM, eps=epsilon)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """All tokens, the leading ones first."""
        patches = self.patches(images[:, None]).flatten(2).transpose(1, 2)
        leading = [token.expand(len(images), -1, -1) for token in self.leading]
        x = torch.cat([*leading, patches], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        tokens: torch.Tensor = self.norm(x)
        return tokens


class SpectrogramEncoder(Encoder):
    """A spectrogram transformer as an encoder: one frame per window, weighted by its length."""

    removes_mean = False
    """Whether the mean of the waveform is removed before anything else."""

    def __init__(
        self, spec: EncoderSpec, device: torch.device, network: SpectrogramTransformer
    ) -> None:
        super().__init__(spec, device)
        self.network = network.to(device)
        pack_dense_layers(self.network, device)

    @abstractmethod
    def embed(self, energies: torch.Tensor) -> torch.Tensor:
        """Vectors ``(n, 768)`` of normalised energies ``(n, 1024, 128)``.

        What a classifier sees may follow as further columns.
        """

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """One embedding per window of up to 1024 frames."""
        waveforms = [
            functional.pad(segment.to(self.device), (0, max(0, KALDI_WINDOW - len(segment))))
            for segment in segments
        ]
        vectors = by_shape(self._embed_waveforms, waveforms)
        counts = [min(FRAMES, kaldi_frames(len(waveform))) for waveform in waveforms]
        return [
            _encoding(vector[None], torch.tensor([count / FRAMES]))
            for vector, count in zip(vectors, counts, strict=True)
        ]

    def _embed_waveforms(self, waveforms: torch.Tensor) -> torch.Tensor:
        if self.removes_mean:
            waveforms = waveforms - waveforms.mean(dim=1, keepdim=True)
        energies = kaldi_filter_bank(waveforms, "hann", BANDS)[:, :FRAMES]
        energies = functional.pad(energies, (0, 0, 0, FRAMES - energies.shape[1]))
        return self.embed((energies - _MEAN) / (2.0 * _DEVIATION))


def _encoding(columns: torch.Tensor, weights: torch.Tensor) -> Encoding:
    seen = columns[:, _DIM:]
    return Encoding(columns[:, :_DIM], weights, seen if seen.shape[1] > 0 else None)
