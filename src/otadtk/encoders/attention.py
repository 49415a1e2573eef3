"""Multi-head self-attention, the one piece that all the transformer encoders share."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class SelfAttention(nn.Module):
    """softmax(q·kᵀ/√c + bias)·v over tokens ``(n, tokens, dim)``, then a projection.

    ``bias`` is added to the scores of all heads ``(n or 1, heads, tokens, tokens)``.
    """

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.projection = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        """Tokens of the same shape."""
        query, key, value = self.split_heads(x)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, self.position_bias(query, bias)
        )
        projected: torch.Tensor = self.projection(mixed.transpose(1, 2).flatten(2))
        return projected

    def split_heads(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Query, key and value, each ``(n, heads, tokens, dim / heads)``."""
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return query, key, value

    def position_bias(self, query: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor | None:
        """What is added to the scores; BEATs lets it depend on the query."""
        return bias


class FeedForward(nn.Sequential):
    """Two dense layers with GELU between them."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))
