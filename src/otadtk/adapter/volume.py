"""Summary of how an adapter changes local volume at a set of embeddings (Prop. 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from otadtk.adapter.network import Adapter

_MOST_CLIPS = 16


@dataclass(frozen=True)
class VolumeSummary:
    """log|det J| over ``clips`` embeddings: above 0 points move apart, below 0 they move closer.

    Where the adapter is flat in some direction the volume is 0. Such clips are counted in
    ``flattened`` and excluded from the other numbers.
    """

    clips: int
    flattened: int
    mean: float
    smallest: float
    largest: float

    def __str__(self) -> str:
        if self.flattened == self.clips:
            return f"the adapter is flat in some direction at all {self.clips} clips examined"
        flat = f", flat in some direction at {self.flattened} more" if self.flattened else ""
        return (
            f"log-volume {self.mean:+.3g} on average over {self.clips - self.flattened} clips "
            f"({self.smallest:+.3g} to {self.largest:+.3g}){flat}"
        )


def volume_summary(adapter: Adapter, embeddings: torch.Tensor) -> VolumeSummary:
    """The summary over at most 16 embeddings, evenly spread over the set."""
    count = min(_MOST_CLIPS, len(embeddings))
    chosen = np.linspace(0, len(embeddings) - 1, count).round().astype(int)
    place = next(adapter.parameters()).device
    with torch.no_grad():
        volumes = adapter.log_volume(embeddings[chosen].float().to(place)).cpu().double()
    seen = volumes[torch.isfinite(volumes)]
    flattened = count - len(seen)
    if len(seen) == 0:
        return VolumeSummary(count, flattened, -math.inf, -math.inf, -math.inf)
    return VolumeSummary(count, flattened, float(seen.mean()), float(seen.min()), float(seen.max()))
