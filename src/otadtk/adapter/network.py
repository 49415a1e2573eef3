"""The learned ground metric as a network: g(z) = z + f(z)."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn


class RiemannianAdapter(nn.Module):
    """g(z) = z + f(z), f = LayerNorm → Linear d→d/4 → GELU → Dropout → Linear d/4→d (Section 4.1).

    The last layer starts at zero: a new adapter is the identity.

    >>> import torch
    >>> from otadtk import RiemannianAdapter
    >>> z = torch.ones(3, 8)
    >>> torch.equal(RiemannianAdapter(8)(z), z)
    True
    """

    def __init__(self, input_dim: int, bottleneck_ratio: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        width = max(1, input_dim // bottleneck_ratio)
        last = nn.Linear(width, input_dim)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.input_dim = input_dim
        self.f_theta = nn.Sequential(
            nn.LayerNorm(input_dim),
            nn.Linear(input_dim, width),
            nn.GELU(),
            nn.Dropout(dropout),
            last,
        )

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """The corrected embeddings, of the same shape."""
        return cast(torch.Tensor, z + self.f_theta(z))
