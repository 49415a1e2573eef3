"""Checks what the distances are given, and turns it into tensors; every refusal is one line."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.errors import UsageError


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
    bad = int((~torch.isfinite(tensor)).any(dim=1).sum())
    if bad:
        raise UsageError(f"{name} has NaN or infinite values in {bad} of {len(tensor)} samples.")
    return tensor


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
