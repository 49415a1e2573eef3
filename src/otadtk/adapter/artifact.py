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

    def log_volume(self, z: Tensor) -> Tensor:
        """½ log det JᵀJ at each vector: above 0 where g spreads its surroundings out.

        J has the rows D of the embedding and the features, which is diagonal, and the few rows H
        of the faults: det JᵀJ = det D² · det(I + H D⁻² Hᵀ), a determinant of the size of H.
        """
        if self.unit_input:
            return super().log_volume(z)  # D is not diagonal then
        points = self._points(z).detach()
        with torch.enable_grad():
            inputs = points.clone().requires_grad_()
            heard = self.fault_weight * functional.softplus(self.faults(inputs) + _OFFSET)
            columns = [
                torch.autograd.grad(column.sum(), inputs, retain_graph=True)[0]
                for column in heard.unbind(dim=1)
            ]
        rows = torch.stack(columns, dim=1).double()
        standard = (points[:, self.embedding_dim :] - self.mean) / self.spread
        slope = 1.0 - torch.tanh(standard / _BOUND).square()
        steep = self.feature_weight.abs() * slope.double() / self.spread.double().abs()
        diagonal = torch.cat([steep.new_ones(len(steep), self.embedding_dim), steep], dim=1)
        # where a feature is at its bound it moves no fault either: the row stays 0
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
