"""Multi-head self-attention and dense layers, the pieces that all the transformer encoders share."""

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
        self.qkv: nn.Module = nn.Linear(dim, 3 * dim)
        self.projection: nn.Module = nn.Linear(dim, dim)

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


class PackedLinear(nn.Module):
    """A dense layer, with GELU behind it if asked for, whose weights lie as oneDNN reads them.

    torch's own dense layer puts its weights in order at every call; a clip has so few tokens that
    this takes a sixth of the time.
    """

    def __init__(self, layer: nn.Module, *, gelu: bool = False) -> None:
        super().__init__()
        assert isinstance(layer, nn.Linear)
        self._weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())
        self._bias = layer.bias.detach() if layer.bias is not None else None
        # "none" is GELU by the error function, as nn.GELU() has it
        self._behind: tuple[str, list[float], str] = (
            ("gelu", [], "none") if gelu else ("none", [], "")
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(…, inputs)`` -> ``(…, outputs)``."""
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._weight, self._bias, *self._behind
        )
        return out


def pack_dense_layers(network: nn.Module, device: torch.device) -> None:
    """Pack the dense layers of a transformer's blocks, where this torch and device can."""
    here = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if device.type != "cpu" or not here or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return
    for module in network.modules():
        if isinstance(module, SelfAttention):
            module.qkv, module.projection = (
                PackedLinear(module.qkv),
                PackedLinear(module.projection),
            )
        elif isinstance(module, FeedForward):
            module[0], module[1] = PackedLinear(module[0], gelu=True), nn.Identity()
            module[2] = PackedLinear(module[2])
