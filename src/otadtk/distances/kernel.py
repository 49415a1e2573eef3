"""The kernel distance between two sets of embeddings (KAD): an unbiased squared MMD, in tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.cost import SquaredCost, accumulator, row_tiles
from otadtk.distances.median import median_distance
from otadtk.distances.pairs import TILE, PairDistances
from otadtk.distances.validate import as_points, check_pair, check_positive
from otadtk.errors import UsageError

KernelName = Literal["gaussian", "iq", "imq"]
BandwidthRule = Literal["eval", "ref", "pooled"]
SCALE = 100.0
_TINY = 1e-8

Kernel = Callable[[Tensor, float], Tensor]
_KERNELS: dict[str, Kernel] = {
    "gaussian": lambda squared, gamma: squared.mul(-gamma).exp_(),
    "iq": lambda squared, gamma: squared.mul(gamma).add_(1.0).reciprocal_(),
    "imq": lambda squared, gamma: squared.mul(gamma).add_(1.0).rsqrt_(),
}


@dataclass(frozen=True)
class KernelDistance:
    """A kernel distance and the bandwidth that it was computed with."""

    value: float
    """100·MMD² (MMD² with ``scale=False``); may be negative."""
    bandwidth: float
    """σ of the kernel."""
    bandwidth_rule: str
    """``eval``, ``ref``, ``pooled``: whose median distance σ is; or ``given``."""
    kernel: KernelName
    """``gaussian``, ``iq`` or ``imq``."""


def kernel_distance(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    bandwidth: float | BandwidthRule = "eval",
    kernel: KernelName = "gaussian",
    scale: bool = True,
) -> KernelDistance:
    """100·[Σ_{i≠j} k_xx/(m(m−1)) + Σ_{i≠j} k_yy/(n(n−1)) − 2 mean k_xy].

    ``x`` is the reference, ``y`` the evaluated set. k = exp(−γ d²), 1/(1 + γ d²) or
    (1 + γ d²)^−½ with γ = 1/(2σ² + 1e-8); σ is a number, or the lower median of the pairwise
    distances within the evaluated set (as kadtk), the reference, or both together.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> kernel_distance(x, x + 1.0).value > 1.0
    True
    """
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    for name, points in (("x", x_), ("y", y_)):
        if len(points) < 2:
            raise UsageError(f"{name} has one sample: pairs need two at least.")
    if kernel not in _KERNELS:
        raise UsageError(f"kernel must be one of {', '.join(_KERNELS)}, not {kernel!r}.")
    return kernel_distance_by(
        {"ref": PairDistances(x_), "eval": PairDistances(y_)},
        lambda: SquaredCost(x_, y_, torch.float32),
        lambda: PairDistances(torch.cat([x_, y_])),
        *(bandwidth, kernel, scale),
    )


def kernel_distance_by(
    within: dict[str, PairDistances],
    between: Callable[[], SquaredCost],
    pooled: Callable[[], PairDistances],
    bandwidth: float | BandwidthRule,
    kernel: KernelName,
    scale: bool,
) -> KernelDistance:
    """The kernel distance by the squared distances within each set, between them and of both.

    ``within`` is emptied: what has been used need not stay in memory.
    """
    if not isinstance(bandwidth, str):
        sigma, rule = check_positive(bandwidth, "bandwidth"), "given"
    elif bandwidth in within:
        sigma, rule = median_distance(within[bandwidth]), bandwidth
    elif bandwidth == "pooled":
        sigma, rule = median_distance(pooled()), bandwidth
    else:
        raise UsageError(f"bandwidth must be a number, eval, ref or pooled, not {bandwidth!r}.")
    gamma = 1.0 / (2.0 * sigma**2 + _TINY)
    function = _KERNELS[kernel]
    # the set of the median first: its distances are still in memory, and go before the next ones
    means = {
        side: _mean_of_pairs(within.pop(side), function, gamma)
        for side in sorted(within, key=lambda side: side != rule)
    }
    cost, cross = between(), 0.0
    for rows in row_tiles(*cost.shape, TILE):
        cross += _sum(function(cost.tile(rows), gamma))
    value = means["ref"] + means["eval"] - 2.0 * cross / (cost.shape[0] * cost.shape[1])
    return KernelDistance(SCALE * value if scale else value, sigma, rule, kernel)


def _mean_of_pairs(pairs: PairDistances, function: Kernel, gamma: float) -> float:
    """Σ_{i≠j} k_ij / (n(n − 1)), which is the mean over i < j."""
    return sum(_sum(function(tile, gamma)) for tile in pairs.tiles()) / pairs.count


def _sum(tile: Tensor) -> float:
    """Σ, accumulated wide: row sums in float32 are exact enough, their total is not."""
    return float(tile.sum(dim=-1).sum(dtype=accumulator(tile.device)))
