"""The networks of learned ground metrics: g(z) = z + f(z), its Jacobian, metric and volume."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from otadtk.errors import UsageError


def jacobians(function: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    """∂f/∂z at each of (n, d) points, of which f maps each for itself: (n, outputs, d).

    Copy k of a point gives row k of its matrix, so a point is one backward pass. ``torch.func`` takes a
    second to import.
    """
    with torch.enable_grad():
        found = []
        for point in points.detach():
            outputs = function(point[None]).shape[1]
            copies = point.expand(outputs, -1).clone().requires_grad_()
            found += torch.autograd.grad(function(copies).diagonal().sum(), copies)
    return torch.stack(found)


class Adapter(nn.Module, ABC):
    """A differentiable map g from clip vectors ``(n, input_dim)`` to the space of the ground cost."""

    input_dim: int

    @abstractmethod
    def forward(self, z: Tensor) -> Tensor:
        """g(z) for vectors ``(n, input_dim)``."""

    def for_clips(self) -> Adapter:
        """The map by which crowds of single clips are judged: this one, unless it has another."""
        return self

    def jacobian(self, z: Tensor) -> Tensor:
        """J = ∂g/∂z at each vector: ``(n, output, input_dim)``, or without n for one vector."""
        found = jacobians(self, self._points(z))
        return found if z.ndim == 2 else found[0]

    def pullback_metric(self, z: Tensor) -> Tensor:
        """M = JᵀJ (Prop. 1): ‖g(z+δ) − g(z)‖² = δᵀMδ + O(‖δ‖³).

        >>> import torch
        >>> from otadtk import RiemannianAdapter
        >>> torch.equal(RiemannianAdapter(8).eval().pullback_metric(torch.ones(8)), torch.eye(8))
        True
        """
        jacobian = self.jacobian(z)
        metric: Tensor = jacobian.mT @ jacobian
        return metric

    def log_volume(self, z: Tensor) -> Tensor:
        """log|det J| at each vector (Prop. 2): above 0 where g spreads its surroundings out.

        Where g adds coordinates, J is not square and the volume is that of the image: ½ log det JᵀJ.
        """
        # JᵀJ = LLᵀ, so ½ log det JᵀJ = Σ log L_ii; no L exists where g is flat in some direction
        factor, failed = torch.linalg.cholesky_ex(self.pullback_metric(z).double())
        volume = factor.diagonal(dim1=-2, dim2=-1).log().sum(dim=-1)
        return torch.where(failed > 0, -torch.inf, volume).to(z.dtype)

    def _points(self, z: Tensor) -> Tensor:
        if z.ndim not in (1, 2) or z.shape[-1] != self.input_dim:
            raise UsageError(
                f"The adapter takes vectors of {self.input_dim} values, not {tuple(z.shape)}."
            )
        return z[None] if z.ndim == 1 else z


class RiemannianAdapter(Adapter):
    """g(z) = z + f(z), f = LayerNorm → Linear d→d/4 → GELU → Dropout → Linear d/4→d (Section 4.1).

    The last layer starts at zero: a new adapter is the identity. With ``unit_input`` vectors are
    L2-normalised first. It maps vectors of shape (n, d) to vectors of the same shape.

    Examples:
        >>> import torch
        >>> from otadtk import RiemannianAdapter
        >>> z = torch.ones(3, 8)
        >>> torch.equal(RiemannianAdapter(8)(z), z)
        True
    """

    def __init__(
        self,
        input_dim: int,
        bottleneck_ratio: int = 4,
        dropout: float = 0.1,
        *,
        unit_input: bool = False,
    ) -> None:
        super().__init__()
        self.unit_input = unit_input
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

    def forward(self, z: Tensor) -> Tensor:
        """The corrected embeddings, of the same shape."""
        if self.unit_input:
            z = functional.normalize(z, dim=-1)
        return cast(Tensor, z + self.f_theta(z))

    def log_volume(self, z: Tensor) -> Tensor:
        """log|det J| at each vector (Prop. 2): above 0 where g spreads its surroundings out.

        f has a bottleneck of d/4 values: J = I + AB, where A is the last layer. By Sylvester's
        identity det J = det(I + BA), a matrix of a quarter of the size.
        """
        if self.unit_input:
            return super().log_volume(z)  # J is not I + AB then
        points, outer = self._points(z), cast(nn.Linear, self.f_theta[4]).weight.double()
        small = jacobians(self.f_theta[:4], points).double() @ outer
        small = small + torch.eye(small.shape[-1], dtype=small.dtype, device=small.device)
        volume = torch.linalg.slogdet(small)[1].to(z.dtype)
        return cast(Tensor, volume if z.ndim == 2 else volume[0])
