"""Checks what the distances are given, and turns it into tensors; every refusal is one line."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.errors import UsageError

LARGEST_SEED = 2**63 - 1
"""What torch takes as a seed."""
_RESOLVED = 1e-15
"""The smallest ε in units of the largest cost: below it float64 does not resolve C/ε."""
_DROWNED, _DROWNED_ENTROPIC = 1e12, 1e6
"""The largest ε in units of the largest cost, for a sharp and an entropic divergence: above it the
rounding of the kernel, times ε, exceeds the costs. Measured: 3.34 instead of 4 at 1e28, and 3.25
at 2e6 with the entropy term."""


def as_points(points: ArrayLike | Tensor, name: str) -> Tensor:
    """A detached, finite floating-point (N, d) tensor; 1-d input is one dimension per sample."""
    try:
        tensor = points if isinstance(points, Tensor) else torch.from_numpy(np.asarray(points))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be an array of numbers: {error}.") from error
    tensor = tensor.detach()
    if tensor.ndim != 2:
        raise UsageError(
            f"{name} must have shape (samples, dimensions), not {tuple(tensor.shape)}."
        )
    if tensor.shape[0] == 0 or tensor.shape[1] == 0:
        raise UsageError(f"{name} is empty: its shape is {tuple(tensor.shape)}.")
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise UsageError(f"{name} must hold real numbers, not {tensor.dtype}.")
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)
    low, high = (float(extreme) for extreme in torch.aminmax(tensor))  # NaN, if there is one
    largest = max(-low, high)
    if not math.isfinite(largest):
        bad = int((~torch.isfinite(tensor)).any(dim=1).sum())
        raise UsageError(f"{name} has NaN or infinite values in {bad} of {len(tensor)} samples.")
    if largest > largest_value(tensor.shape[1]):
        raise UsageError(
            f"{name} has values up to {largest:.3g}, and float32 cannot hold their squares: divide "
            f"the embeddings of both sets by one number, such as {largest:.0e}."
        )
    return tensor


def largest_value(dimension: int) -> float:
    """The largest number in vectors whose squared distances float32 can hold."""
    return math.sqrt(torch.finfo(torch.float32).max / (4 * dimension))


def check_pair(x: Tensor, y: Tensor) -> None:
    """Nothing, if the two sets live in one space; else a UsageError."""
    if x.shape[1] != y.shape[1]:
        raise UsageError(f"The sets differ in dimension: {x.shape[1]} and {y.shape[1]}.")
    if x.device != y.device:
        raise UsageError(f"The sets lie on different devices: {x.device} and {y.device}.")


def check_positive(value: float, name: str) -> float:
    """The value as a float, if it is finite and above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise UsageError(f"{name} must be a number, not {value!r}.")
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f"{name} must be a positive, finite number, not {value!r}.")
    return float(value)


def check_epsilon(epsilon: float, largest_cost: float, *, entropic: bool) -> float:
    """The absolute ε, if float64 can resolve it against the costs; else a UsageError."""
    misfit = epsilon_misfit(epsilon, largest_cost, entropic=entropic)
    if misfit:
        raise UsageError(
            f"epsilon = {epsilon:.3g} is too {misfit} against costs of "
            f"{largest_cost:.3g}; take one near the costs (--epsilon 0.1 --epsilon-scale "
            f"median_cost)"
            + (", or --coupling exact for the limit 0." if misfit == "small" else ".")
        )
    return epsilon


def epsilon_misfit(
    epsilon: float, largest_cost: float, *, entropic: bool
) -> Literal["", "small", "large"]:
    """Whether an absolute ε is too small or too large against the costs for float64."""
    if epsilon < _RESOLVED * largest_cost or epsilon < torch.finfo(torch.float64).tiny:
        return "small"
    most = _DROWNED_ENTROPIC if entropic else _DROWNED
    too_large = not math.isfinite(epsilon) or epsilon > most * largest_cost > 0
    return "large" if too_large else ""


def check_bandwidth(value: float) -> float:
    """A given bandwidth of a kernel, if float32 can hold its square; else a UsageError."""
    bandwidth = check_positive(value, "bandwidth")
    if not 1e-18 <= bandwidth <= 1e18:
        raise UsageError(f"bandwidth must lie between 1e-18 and 1e18, not {bandwidth:g}.")
    return bandwidth


def check_seed(seed: int) -> int:
    """The seed, if torch takes it; else a UsageError."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"seed must be a whole number from 0 to 2^63 - 1, not {seed!r}.")
    return int(seed)


def as_weights(weights: ArrayLike | Tensor | None, count: int, name: str) -> Tensor:
    """Float64 weights that sum to one on the CPU; uniform when none are given."""
    if weights is None:
        return torch.full((count,), 1.0 / count, dtype=torch.float64)
    tensor = weights if isinstance(weights, Tensor) else torch.from_numpy(np.asarray(weights))
    tensor = tensor.detach().to("cpu", torch.float64)
    if tensor.shape != (count,):
        raise UsageError(f"{name} must have shape ({count},), not {tuple(tensor.shape)}.")
    if not bool(torch.isfinite(tensor).all()) or bool((tensor <= 0).any()):
        raise UsageError(f"{name} must be positive and finite; leave samples of no weight out.")
    return tensor / tensor.sum()
