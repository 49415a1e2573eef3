"""The ground metric that makes spoilt clips stand out: coordinates for faults beside the embedding.

The embedding alone decides where a clip lies among the classes, and encoders are trained not to
hear faults. So the embedding is kept as it is, and coordinates are added in which clean clips
nearly coincide and spoilt ones lie apart from every clean reference, whatever its class.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from otadtk.adapter.network import Adapter

_BOUND = 5.0
_OFFSET = 2.0
_EMBEDDING_SCALE = 8.0
"""A coordinate of a unit vector in 1024 dimensions is about 1/32; measured features are about 1."""


class ArtifactAdapter(Adapter):
    """g([z, s]) = [z, α·softplus(h(z, s) + 2), β·s̃] for an embedding z and signal features s.

    s̃ are the features in units of their spread over clean clips, bounded smoothly at ±5; h is a
    small network with one output per kind of fault, trained to say which one it hears. A clean clip
    has all of them far below zero, so that it is moved little; a spoilt one is moved by its own
    fault's coordinate, and clips with other faults do not come near it. z is of unit norm, or made
    so with ``unit_input``.
    """

    def __init__(
        self,
        embedding_dim: int,
        feature_dim: int,
        kinds: int,
        hidden: int = 128,
        dropout: float = 0.3,
        *,
        unit_input: bool = False,
    ) -> None:
        super().__init__()
        self.unit_input = unit_input
        self.embedding_dim = embedding_dim
        self.input_dim = embedding_dim + feature_dim
        self.mean: Tensor
        self.spread: Tensor
        self.fault_weight: Tensor
        self.feature_weight: Tensor
        self.register_buffer("mean", torch.zeros(feature_dim))
        self.register_buffer("spread", torch.ones(feature_dim))
        self.register_buffer("fault_weight", torch.tensor(0.3))
        self.register_buffer("feature_weight", torch.tensor(0.2))
        self.hears = nn.Sequential(
            nn.Linear(self.input_dim, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, kinds),
        )

    def parts(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The embedding and the bounded features of vectors ``(n, input_dim)``."""
        embedding, features = z[:, : self.embedding_dim], z[:, self.embedding_dim :]
        standard = (features - self.mean) / self.spread
        if self.unit_input:
            embedding = functional.normalize(embedding, dim=1)
        return embedding, _BOUND * torch.tanh(standard / _BOUND)

    def faults(self, z: Tensor) -> Tensor:
        """The logit of each kind of fault ``(n, kinds)``."""
        embedding, features = self.parts(z)
        return self.listen(embedding, features)

    def listen(self, embedding: Tensor, features: Tensor) -> Tensor:
        """The same from ``parts``."""
        joined = torch.cat([_EMBEDDING_SCALE * embedding, features], dim=1)
        return cast(Tensor, self.hears(joined))

    def forward(self, z: Tensor) -> Tensor:
        """[z, α·softplus(h + 2), β·s̃] of vectors ``(n, input_dim)``."""
        embedding, features = self.parts(z)
        heard = functional.softplus(self.listen(embedding, features) + _OFFSET)
        return torch.cat(
            [embedding, self.fault_weight * heard, self.feature_weight * features], dim=1
        )
