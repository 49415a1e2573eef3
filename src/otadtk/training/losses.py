"""Training losses, and the retained variance, which shows a collapse."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from otadtk.distances.transport.gradient import sinkhorn_loss


def squared_distance(x: Tensor, y: Tensor) -> Tensor:
    """‖x − y‖² row by row."""
    return (x - y).square().sum(dim=-1)


def triplet_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """The mean of max(0, d(a,p) − d(a,n) + m) on squared distances (Section 4.3).

    >>> import torch
    >>> a = torch.zeros(1, 2)
    >>> triplet_loss(a, a, a + 1.0, margin=3.0).item()
    1.0
    """
    near, far = squared_distance(anchor, positive), squared_distance(anchor, negative)
    return functional.relu(near - far + margin).mean()


def mean_squared_distance(x: Tensor) -> float:
    """The mean of ‖x_i − x_j‖² over pairs: twice the total variance."""
    return 2.0 * float(x.var(dim=0, correction=0).sum())


def retained_variance(before: Tensor, after: Tensor) -> float:
    """Total variance after the adapter over that before; 0 means that the space collapsed."""
    return mean_squared_distance(after) / max(mean_squared_distance(before), 1e-12)


def native_loss(
    first: Tensor, second: Tensor, degraded: Tensor, *, epsilon: float, apart: float
) -> Tensor:
    """S_ε(first, second) + relu(apart − S_ε(first, degraded)).

    The first term pulls two clean batches of the same classes together; alone it would collapse
    all points. The second term pushes clean and degraded batches at least ``apart``.
    """
    together = sinkhorn_loss(first, second, epsilon=epsilon, tolerance=1e-4)
    separate = sinkhorn_loss(first, degraded, epsilon=epsilon, tolerance=1e-4)
    return together + functional.relu(apart - separate)


def variance_floor(before: Tensor, after: Tensor, share: float) -> Tensor:
    """relu(share − retained variance): above 0 when too much variance is lost."""
    kept = after.var(dim=0, correction=0).sum() / before.var(dim=0, correction=0).sum()
    return functional.relu(share - kept)


def is_finite(loss: Tensor) -> bool:
    """Whether a loss is a finite number."""
    return bool(torch.isfinite(loss))
