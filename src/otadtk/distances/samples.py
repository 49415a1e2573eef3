"""What comes into a distance: two finite matrices of one width."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.errors import UsageError

Samples = torch.Tensor | NDArray[np.floating]


def check_samples(
    x: Samples, y: Samples, *, at_least: int = 1, metric: str = "this distance"
) -> tuple[torch.Tensor, torch.Tensor]:
    """The two sets as float tensors, refused with the reason when no distance is defined."""
    tensors = [torch.as_tensor(side) for side in (x, y)]
    for name, side in zip(("reference", "evaluated"), tensors, strict=True):
        if side.ndim != 2:
            shape = tuple(side.shape)
            raise UsageError(f"The {name} embeddings must be (samples, dim), not {shape}.")
        if len(side) < at_least:
            raise UsageError(
                f"{metric} needs at least {at_least} clips a side; the {name} set has {len(side)}."
            )
        if not torch.isfinite(side).all():
            raise UsageError(f"The {name} embeddings contain NaN or infinite values.")
    if tensors[0].shape[1] != tensors[1].shape[1]:
        widths = f"{tensors[0].shape[1]} and {tensors[1].shape[1]}"
        raise UsageError(f"The two sets have embeddings of different dimension: {widths}.")
    reference, evaluated = (t if t.is_floating_point() else t.float() for t in tensors)
    return reference, evaluated.to(reference.device)
