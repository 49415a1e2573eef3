"""The ground metric that hears what listeners hear: weighted blocks of features, and faults.

Blocks (the embedding, layers of the network, weight-free features) are brought to one scale by a
reference collection, bounded, and weighted. Coordinates for faults stand beside them, in which
clean clips nearly coincide and spoilt ones lie apart from every clean reference.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from otadtk.adapter.network import Adapter

_BOUND = 4.0
"""A feature counts up to about four deviations of the reference collection."""
_CLIP_BOUND = 8.0
"""For single clips up to eight: recordings that are clipped a little are not as far as those that are
clipped throughout."""
_REACH = 2.0
"""A block counts up to about twice its usual norm."""
_SHARPNESS = 4.0
_OFFSET = 2.0
_POWER = 1.5
"""A sound that is a little odd (an output of 1) should hardly move, a clear fault (4) far."""
_FAULT_REACH = 3.0
"""Where one gross fault stops to move a clip farther: a confident output is about 4."""


class PerceptualAdapter(Adapter):
    """g(x) = [√w_b · z̃_b for every block b, √α · f̃] for vectors x of a model with features.

    z_b are the features of a block in deviations of the reference collection, bounded smoothly at
    ±4 each, divided so that two reference clips are at mean squared distance 1, and z̃_b the same
    with its norm bounded smoothly at twice the usual: silence, or one gross fault, moves a clip no
    farther than that. f = ½ γ softplus(h(z) + 2)^1.5, h a small network with one output for each
    family of faults, γ how much each family counts, f̃ the same with its norm bounded. The first block
    is the embedding itself.

    Content hides faults: two clean clips of different sounds are farther apart than a clean clip and a
    spoilt one. Sets are compared with w and α; single clips are judged with ``clip_weights`` and
    ``clip_fault_weight``, in which faults and signal features count more, and with features bounded at
    ±8 (``for_clips``).
    """

    def __init__(
        self,
        blocks: Sequence[int],
        families: int,
        hidden: int = 128,
        dropout: float = 0.3,
        *,
        heard: tuple[int, int],
        unit_input: bool = False,
    ) -> None:
        """``blocks`` are their sizes; h listens to those from ``heard[0]`` up to ``heard[1]``."""
        super().__init__()
        self.unit_input = unit_input
        self._bound = _BOUND
        self.blocks = list(blocks)
        self._listened = slice(sum(blocks[: heard[0]]), sum(blocks[: heard[1]]))
        self.input_dim = sum(blocks)
        self.mean: Tensor
        self.spread: Tensor
        self.sizes: Tensor
        self.heard: Tensor
        self.scales: Tensor
        self.weights: Tensor
        self.fault_weight: Tensor
        self.clip_weights: Tensor
        self.clip_fault_weight: Tensor
        self.fault_gains: Tensor
        self.fault_reach: Tensor
        self.register_buffer("mean", torch.zeros(self.input_dim))
        self.register_buffer("spread", torch.ones(self.input_dim))
        self.register_buffer("sizes", torch.tensor(self.blocks, dtype=torch.int64))
        self.register_buffer("heard", torch.tensor(heard, dtype=torch.int64))
        self.register_buffer("scales", torch.ones(len(self.blocks)))
        self.register_buffer("weights", torch.ones(len(self.blocks)))
        self.register_buffer("fault_weight", torch.tensor(1.0))
        self.register_buffer("clip_weights", torch.ones(len(self.blocks)))
        self.register_buffer("clip_fault_weight", torch.tensor(1.0))
        self.register_buffer("fault_gains", torch.ones(families))
        self.register_buffer("fault_reach", torch.tensor(_FAULT_REACH))
        self.hears = nn.Sequential(
            nn.Linear(self._listened.stop - self._listened.start, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, families),
        )

    def for_clips(self) -> PerceptualAdapter:
        """The same map with the weights for single clips."""
        changed = copy.copy(self)
        changed._buffers = {
            **self._buffers, "weights": self.clip_weights, "fault_weight": self.clip_fault_weight
        }  # fmt: skip
        changed._bound = _CLIP_BOUND
        return changed

    def standard(self, x: Tensor, bound: float = _BOUND) -> Tensor:
        """The features in deviations of the reference collection, each bounded smoothly at ±``bound``.

        The embedding is left as it is, or brought to norm 1 with ``unit_input``.
        """
        width = self.blocks[0]
        embedding, rest = x[:, :width], x[:, width:]
        if self.unit_input:
            embedding = functional.normalize(embedding, dim=1)
        z = (rest - self.mean[width:]) / self.spread[width:]
        embedding = embedding - self.mean[:width]
        return torch.cat([embedding, bound * torch.tanh(z / bound)], dim=1)

    def faults(self, z: Tensor) -> Tensor:
        """The logit of each family of faults ``(n, families)`` from what ``standard`` gives."""
        return cast(Tensor, self.hears(self.listened(z)))

    def listened(self, z: Tensor) -> Tensor:
        """The part of standardised features that h listens to."""
        return z[:, self._listened]

    def coordinates(self, logits: Tensor) -> Tensor:
        """√α · f̃ of logits: near 0 for a clean clip."""
        heard = self.fault_gains * functional.softplus(logits + _OFFSET) ** _POWER / 2.0
        return self.fault_weight.sqrt() * _bounded(heard, self.fault_reach)

    def forward(self, x: Tensor) -> Tensor:
        """[√w_b · z̃_b, √α · f̃] of vectors ``(n, input_dim)``."""
        z = self.standard(x, self._bound)
        parts = [
            weight.sqrt() * _bounded(block / scale, z.new_tensor(_REACH))
            for block, scale, weight in zip(
                torch.split(z, self.blocks, dim=1), self.scales, self.weights, strict=True
            )
        ]
        heard = z if self._bound == _BOUND else self.standard(x)  # h was trained with this bound
        return torch.cat([*parts, self.coordinates(self.faults(heard))], dim=1)

    def log_volume(self, z: Tensor) -> Tensor:
        """½ log det JᵀJ at each vector: above 0 where g spreads its surroundings out.

        J has the rows D of the blocks and the few rows H of the faults: det JᵀJ = det D² ·
        det(I + H D⁻¹ D⁻ᵀ Hᵀ). D is diagonal but for the bound on the norm of each block, n ↦
        n (1 + q)^-¼ with q = (n / reach)⁴, whose derivative is (1 + q)^-¼ across the block and
        (1 + q)^-5/4 along it.
        """
        points = self._points(z).detach()
        if self.unit_input or bool((self.weights <= 0).any()):
            flat = points.new_full((len(points),), -torch.inf)  # g is flat in some direction
            return flat if z.ndim == 2 else flat[0]
        standard = self.standard(points)
        with torch.enable_grad():
            inputs = standard.clone().requires_grad_()
            heard = self.coordinates(self.faults(inputs))
            columns = [
                torch.autograd.grad(column.sum(), inputs, retain_graph=True)[0]
                for column in heard.unbind(dim=1)
            ]
        rows = torch.stack(columns, dim=1).double()
        width = self.blocks[0]
        slopes = 1.0 - (standard[:, width:].double() / _BOUND).square()
        volume = (slopes.log() - self.spread[width:].double().log()).sum(dim=1)
        turned = []
        parts = zip(
            torch.split(standard.double(), self.blocks, dim=1), torch.split(rows, self.blocks, dim=2),
            self.scales.double(), self.weights.double(), strict=True,
        )  # fmt: skip
        for block, gradient, scale, weight in parts:
            norm = (block / scale).norm(dim=1).clamp_min(1e-12)
            grown = (1.0 + (norm / _REACH) ** _SHARPNESS).log()
            across, along = -grown / _SHARPNESS, -grown * (1.0 + 1.0 / _SHARPNESS)
            size = 0.5 * weight.log() - scale.log()
            volume = volume + block.shape[1] * size + (block.shape[1] - 1) * across + along
            way = block / block.norm(dim=1, keepdim=True).clamp_min(1e-12)
            part = (gradient * way[:, None]).sum(dim=2, keepdim=True) * way[:, None]
            scaled = (gradient - part) * torch.exp(-across)[:, None, None]
            scaled = scaled + part * torch.exp(-along)[:, None, None]
            turned.append(scaled * torch.exp(-size))
        small = torch.cat(turned, dim=2)
        small = small @ small.mT + torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)
        volume = volume + 0.5 * torch.linalg.slogdet(small)[1]
        return cast(Tensor, (volume if z.ndim == 2 else volume[0]).to(z.dtype))


def _bounded(vectors: Tensor, reach: Tensor) -> Tensor:
    """Vectors with norms n made n / (1 + (n / reach)⁴)^¼: short ones stay, none passes ``reach``."""
    norms = vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return cast(Tensor, vectors / (1.0 + (norms / reach) ** _SHARPNESS) ** (1.0 / _SHARPNESS))
