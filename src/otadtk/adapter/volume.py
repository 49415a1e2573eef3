"""How an adapter changes volumes around a set of embeddings (Prop. 2), in four numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from otadtk.adapter.network import Adapter

_MOST_CLIPS = 16


@dataclass(frozen=True)
class VolumeSummary:
    """log|det J| over ``clips`` embeddings: above 0, density is diluted; below, concentrated."""

    clips: int
    mean: float
    smallest: float
    largest: float

    def __str__(self) -> str:
        return (
            f"log-volume {self.mean:+.3g} on average over {self.clips} clips "
            f"({self.smallest:+.3g} to {self.largest:+.3g})"
        )


def volume_summary(adapter: Adapter, embeddings: torch.Tensor) -> VolumeSummary:
    """The summary over at most 16 embeddings, evenly spread over the set."""
    count = min(_MOST_CLIPS, len(embeddings))
    chosen = np.linspace(0, len(embeddings) - 1, count).round().astype(int)
    place = next(adapter.parameters()).device
    with torch.no_grad():
        volumes = adapter.log_volume(embeddings[chosen].float().to(place)).cpu().double()
    return VolumeSummary(count, float(volumes.mean()), float(volumes.min()), float(volumes.max()))
