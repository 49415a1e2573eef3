"""The entropic Sinkhorn divergence as a differentiable loss: gradients from the potentials.

At the optimum the derivative of OT_ε with respect to a point passes through the cost alone
(envelope theorem): ∂/∂x_i OT(x, y) = 2 Σ_j T_ij (x_i − y_j). Nothing is unrolled.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from otadtk.distances.costs.squared import SquaredCost, row_tiles
from otadtk.distances.transport.result import Coupling
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.errors import UsageError


def sinkhorn_loss(x: Tensor, y: Tensor, *, epsilon: float = 0.1, tolerance: float = 1e-6) -> Tensor:
    """The entropic S_ε(x, y) as a scalar tensor, differentiable with respect to x and y.

    >>> x = torch.zeros(4, 2, requires_grad=True)
    >>> loss = sinkhorn_loss(x, torch.ones(4, 2))
    >>> loss.backward()
    >>> round(loss.item(), 4), [round(v, 4) for v in x.grad[0].tolist()]
    (2.0, [-0.5, -0.5])
    """
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        raise UsageError("sinkhorn_loss takes tensors; for arrays use sinkhorn_divergence.")
    loss: Tensor = _SinkhornLoss.apply(x, y, epsilon, tolerance)  # type: ignore[no-untyped-call]
    return loss


class _SinkhornLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, epsilon: float, tolerance: float) -> Tensor:
        result = sinkhorn_divergence(
            x, y, epsilon=epsilon, tolerance=tolerance, divergence="entropic", potentials=True
        )
        with torch.no_grad():
            grad_x = grad_y = None
            if ctx.needs_input_grad[0]:
                grad_x = _pull(x, y, result.xy, result.epsilon)
                grad_x -= _pull(x, x, result.xx, result.epsilon)
            if ctx.needs_input_grad[1]:
                grad_y = _pull(y, x, result.xy, result.epsilon, transposed=True)
                grad_y -= _pull(y, y, result.yy, result.epsilon)
        ctx.gradients = grad_x, grad_y
        return x.new_tensor(result.value)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale = grad_outputs[0]
        grad_x, grad_y = ctx.gradients
        return (
            None if grad_x is None else scale * grad_x,
            None if grad_y is None else scale * grad_y,
            None,
            None,
        )


def _pull(
    points: Tensor, others: Tensor, coupling: Coupling, epsilon: float, transposed: bool = False
) -> Tensor:
    """2 Σ_j T_ij (p_i − q_j) for every point p_i, in tiles.

    The self term counts each point on both sides, ∂/∂x_i ½ OT(x, x) = 2 Σ_j T_ij (x_i − x_j): the
    same formula without a half.
    """
    assert coupling.potentials is not None
    near, far = coupling.potentials[::-1] if transposed else coupling.potentials
    cost = SquaredCost(points.detach(), others.detach())
    wide = cost.wide
    f = torch.from_numpy(near).to(cost.device, wide)
    g = torch.from_numpy(far).to(cost.device, wide)
    out = torch.empty(cost.x.shape, dtype=wide, device=cost.device)
    q = cost.y.to(wide)
    for rows in row_tiles(*cost.shape):
        exponent = (f[rows, None] + g - cost.tile(rows).to(wide)) / epsilon
        plan = torch.softmax(exponent, dim=1)  # rows of T, normalised: uniform weights
        out[rows] = 2.0 * (cost.x[rows].to(wide) - plan @ q)
    return (out / len(points)).to(points.dtype)
