"""The kernel distance between two sets of embeddings (KAD): an unbiased squared MMD, in tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.costs.median import median_distance
from otadtk.distances.costs.pairs import TILE, PairDistances
from otadtk.distances.costs.protocol import Cost, accumulator
from otadtk.distances.costs.squared import SquaredCost, row_tiles
from otadtk.distances.validate import as_points, check_bandwidth, check_pair
from otadtk.errors import UsageError

KernelName = Literal["gaussian", "iq", "imq"]
BandwidthRule = Literal["eval", "ref", "pooled"]
SCALE = 100.0
_TINY = 1e-8

KernelFunction = Callable[[Tensor, float], Tensor]
_KERNELS: dict[str, KernelFunction] = {
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


class Pairs(Protocol):
    """Squared distances of pairs, wherever they are computed."""

    @property
    def count(self) -> int:
        """How many pairs there are."""

    def median(self) -> float:
        """The lower median of the distances."""

    def kernel_sum(self, kernel: KernelName, gamma: float) -> float:
        """Σ k over the pairs."""


class PairsWithin:
    """The pairs i < j of one cloud."""

    def __init__(self, pairs: PairDistances) -> None:
        self._pairs, self.count = pairs, pairs.count

    def median(self) -> float:
        """The lower median of the distances."""
        return median_distance(self._pairs)

    def kernel_sum(self, kernel: KernelName, gamma: float) -> float:
        """Σ k over the pairs, tile after tile."""
        return sum(kernel_total(tile, kernel, gamma) for tile in self._pairs.tiles())


class PairsBetween:
    """The pairs of two clouds, computed when they are asked for."""

    def __init__(self, cost: Callable[[], Cost], count: int) -> None:
        self._cost, self.count = cost, count

    def median(self) -> float:
        """Not asked for: bandwidths come from pairs within a cloud."""
        raise NotImplementedError

    def kernel_sum(self, kernel: KernelName, gamma: float) -> float:
        """Σ k over the pairs, tile after tile."""
        cost, sum_ = self._cost(), 0.0
        for rows in row_tiles(*cost.shape, TILE):
            sum_ += kernel_total(cost.tile(rows), kernel, gamma)
        return sum_


def kernel_total(tile: Tensor, kernel: KernelName, gamma: float) -> float:
    """Σ k over a tile of squared distances, accumulated wide.

    Row sums in float32 are exact enough, their total is not.
    """
    values = _KERNELS[kernel](tile, gamma)
    return float(values.sum(dim=-1).sum(dtype=accumulator(tile.device)))


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
    check_kernel(x_, y_, kernel)
    return kernel_distance_by(
        {"ref": PairsWithin(PairDistances(x_)), "eval": PairsWithin(PairDistances(y_))},
        PairsBetween(lambda: SquaredCost(x_, y_, torch.float32), len(x_) * len(y_)),
        lambda: PairsWithin(PairDistances(torch.cat([x_, y_]))),
        bandwidth,
        kernel,
        scale,
    )


def check_kernel(x: Tensor, y: Tensor, kernel: str) -> None:
    """Refuse what has no kernel distance."""
    check_pair(x, y)
    for name, points in (("x", x), ("y", y)):
        if len(points) < 2:
            raise UsageError(f"{name} has one sample: pairs need two at least.")
    if kernel not in _KERNELS:
        raise UsageError(f"kernel must be one of {', '.join(_KERNELS)}, not {kernel!r}.")


def kernel_distance_by(
    within: Mapping[str, Pairs],
    between: Pairs,
    pooled: Callable[[], Pairs],
    bandwidth: float | BandwidthRule,
    kernel: KernelName,
    scale: bool,
) -> KernelDistance:
    """The kernel distance by the pairs within each set, between them and of both together."""
    left = dict(within)
    if not isinstance(bandwidth, str):
        sigma, rule = check_bandwidth(bandwidth), "given"
    elif bandwidth in left:
        sigma, rule = left[bandwidth].median(), bandwidth
    elif bandwidth == "pooled":
        sigma, rule = pooled().median(), bandwidth
    else:
        raise UsageError(f"bandwidth must be a number, eval, ref or pooled, not {bandwidth!r}.")
    gamma = 1.0 / (2.0 * sigma**2 + _TINY)
    # Σ_{i≠j} k_ij / (n(n − 1)) is the mean over i < j. The set of the median first: its distances
    # are still in memory, and go before the next ones
    means = {}
    for side in sorted(left, key=lambda side: side != rule):
        pairs = left.pop(side)
        means[side] = pairs.kernel_sum(kernel, gamma) / pairs.count
    cross = between.kernel_sum(kernel, gamma) / between.count
    value = means["ref"] + means["eval"] - 2.0 * cross
    return KernelDistance(SCALE * value if scale else value, sigma, rule, kernel)
