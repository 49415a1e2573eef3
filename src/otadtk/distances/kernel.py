"""Kernel distance of two sets: the unbiased squared MMD, as kadtk computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from otadtk.distances.samples import Samples, check_samples
from otadtk.errors import UsageError

Kernel = Literal["gaussian", "iq", "imq"]


@dataclass(frozen=True)
class KernelDistance:
    """The distance and the bandwidth σ it was taken with."""

    value: float
    bandwidth: float


def kernel_distance(
    x: Samples,
    y: Samples,
    *,
    bandwidth: float | None = None,
    kernel: Kernel = "gaussian",
    scale: bool = True,
) -> KernelDistance:
    """100 · [mean_{i≠j} k(x_i,x_j) + mean_{i≠j} k(y_i,y_j) − 2 mean k(x_i,y_j)]; it may be negative.

    σ is the lower median of the pairwise distances of the evaluated set ``y`` unless given;
    γ = 1/(2σ² + 1e-8) and k = exp(−γd²), 1/(1+γd²) for "iq", (1+γd²)^−½ for "imq".
    """
    if kernel not in ("gaussian", "iq", "imq"):
        raise UsageError(f"Unknown kernel {kernel!r}; choose gaussian, iq or imq.")
    if bandwidth is not None and not 0.0 < bandwidth < float("inf"):
        raise UsageError(f"The bandwidth must be a positive number, not {bandwidth}.")
    x, y = check_samples(x, y, at_least=2, metric="KAD")
    centre = torch.cat([x, y]).double().mean(dim=0)
    x, y = x.double() - centre, y.double() - centre
    if bandwidth is None:
        bandwidth = float(torch.pdist(y).median())
        if bandwidth < 1e-8:  # all evaluated clips are the same
            bandwidth = 1.0
    gamma = 1.0 / (2.0 * bandwidth**2 + 1e-8)

    def mean_kernel(a: torch.Tensor, b: torch.Tensor, *, same: bool) -> float:
        squared = torch.cdist(a, b).square() * gamma
        if kernel == "gaussian":
            values = torch.exp(-squared)
        elif kernel == "iq":
            values = 1.0 / (1.0 + squared)
        else:
            values = torch.rsqrt(1.0 + squared)
        if same:
            return float((values.sum() - values.diagonal().sum()) / (len(a) * (len(a) - 1)))
        return float(values.mean())

    mmd = mean_kernel(x, x, same=True) + mean_kernel(y, y, same=True)
    mmd -= 2.0 * mean_kernel(x, y, same=False)
    return KernelDistance(100.0 * mmd if scale else mmd, bandwidth)
