"""The adapter that finds degraded clips: it appends coordinates for faults to the embedding.

Encoders are trained to ignore faults: the embedding mostly tells the class of a clip. So the
embedding is kept unchanged. In the added coordinates clean clips nearly coincide, and degraded
clips lie far from every clean reference of any class.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from otadtk.adapter.network import Adapter, jacobians

_BOUND = 5.0
_OFFSET = 2.0
_EMBEDDING_SCALE = 8.0
"""A coordinate of a unit vector in 1024 dimensions is about 1/32; measured features are about 1."""


class ArtifactAdapter(Adapter):
    """g([z, s]) = [z, α·softplus(h(z, s) + 2), β·s̃] for an embedding z and signal features s.

    s̃ are the features, standardised on clean clips and smoothly bounded at ±5. h is a small network
    with one logit per kind of fault. For a clean clip all logits are far below zero, so it moves
    little. A degraded clip moves along the coordinate of its fault, away from clean clips and from
    clips with other faults. z must have unit norm; ``unit_input`` normalises it here.
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
        """The logits from what ``parts`` returns."""
        joined = torch.cat([_EMBEDDING_SCALE * embedding, features], dim=1)
        return cast(Tensor, self.hears(joined))

    def log_volume(self, z: Tensor) -> Tensor:
        """½ log det JᵀJ at each vector: above 0 where g spreads its surroundings out.

        J consists of a diagonal block D (embedding and features) and a few rows H (faults), so
        det JᵀJ = det D² · det(I + H D⁻² Hᵀ), where the last determinant is as small as H.
        """
        if self.unit_input:
            return super().log_volume(z)  # D is not diagonal then
        points = self._points(z).detach()

        def heard(inputs: Tensor) -> Tensor:
            return self.fault_weight * functional.softplus(self.faults(inputs) + _OFFSET)

        rows = jacobians(heard, points).double()
        standard = (points[:, self.embedding_dim :] - self.mean) / self.spread
        slope = 1.0 - torch.tanh(standard / _BOUND).square()
        steep = self.feature_weight.abs() * slope.double() / self.spread.double().abs()
        diagonal = torch.cat([steep.new_ones(len(steep), self.embedding_dim), steep], dim=1)
        # a feature at its bound has slope 0 in H too, so 0 / tiny stays 0
        rows = rows / diagonal.clamp_min(torch.finfo(diagonal.dtype).tiny)[:, None]
        small = rows @ rows.mT + torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)
        volume = diagonal.log().sum(dim=1) + 0.5 * torch.linalg.slogdet(small)[1]
        return cast(Tensor, (volume if z.ndim == 2 else volume[0]).to(z.dtype))

    def forward(self, z: Tensor) -> Tensor:
        """[z, α·softplus(h + 2), β·s̃] of vectors ``(n, input_dim)``."""
        embedding, features = self.parts(z)
        heard = functional.softplus(self.listen(embedding, features) + _OFFSET)
        return torch.cat(
            [embedding, self.fault_weight * heard, self.feature_weight * features], dim=1
        )
