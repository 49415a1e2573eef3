"""The post-norm transformer of wav2vec 2.0, which BEATs builds on; RoBERTa has its layers too."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from otadtk.encoders.blocks.attention import FeedForward, SelfAttention

DIM, HEADS, LAYERS = 768, 12, 12
_POSITION_KERNEL, _POSITION_GROUPS = 128, 16


class PostNormLayer(nn.Module):
    """Attention and feed-forward, each followed by norm(scale · input + output).

    ``scale`` above 1 is DeepNorm; 1 is the plain residual.
    """

    def __init__(self, attention: SelfAttention, scale: float, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.attention = attention
        self.attention_norm = nn.LayerNorm(DIM, eps=epsilon)
        self.feed_forward = FeedForward(DIM, 4 * DIM)
        self.final_norm = nn.LayerNorm(DIM, eps=epsilon)
        self._scale = scale

    def forward(self, x: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Tokens of the same shape."""
        # the sums are written over what the last layer of each part has just made
        x = self.attention_norm(self.attention(x, bias).add_(x, alpha=self._scale))
        out: torch.Tensor = self.final_norm(self.feed_forward(x).add_(x, alpha=self._scale))
        return out


class PostNormTransformer(nn.Module):
    """Tokens ``(n, t, 768)`` -> tokens: positions by convolution, a norm, twelve layers."""

    def __init__(self, attention: type[SelfAttention] = SelfAttention, scale: float = 1.0) -> None:
        super().__init__()
        self.positions = weight_norm(
            nn.Conv1d(
                DIM, DIM, _POSITION_KERNEL, padding=_POSITION_KERNEL // 2, groups=_POSITION_GROUPS
            ),
            dim=2,
        )
        self.norm = nn.LayerNorm(DIM)
        self.layers = nn.ModuleList(
            PostNormLayer(attention(DIM, HEADS), scale) for _ in range(LAYERS)
        )

    def forward(self, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        """The tokens of the last layer."""
        # an even kernel gives one step too many
        positions = self.positions(x.transpose(1, 2))[..., :-1]
        x = self.norm(x + functional.gelu(positions).transpose(1, 2))
        for layer in self.layers:
            x = layer(x, bias)
        return x
