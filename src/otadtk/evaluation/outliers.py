"""A few clips so far away that a score is about them alone.

An interval says what other clips of the same sources would score. If a few clips make up nearly
all of the spread, how often such clips come is not known, and no interval holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.metrics import AudioMetric

_FEW = 0.05
"""The share of the clips that counts as a few."""
_MOST = 0.9
"""The share of the spread that they need; of normal data 5 % of the clips have less than 0.3."""


@dataclass(frozen=True)
class Outliers:
    """The clips that make up nearly all of the spread of two sets."""

    clips: tuple[Path, ...]
    """The farthest first."""
    share: float

    def note(self, name: str) -> str:
        """What they mean for a score."""
        count = len(self.clips)
        which = f"{self.clips[0]} makes" if count == 1 else f"{count} clips make"
        first = "" if count == 1 else f", first {self.clips[0]}"
        return (
            f"{which} up {100 * min(self.share, 0.999):.3g} % of the squared distances from the "
            f"median of both sets{first}: the score is about {'it' if count == 1 else 'them'}, and "
            f"no interval of {name} holds; look at {'it' if count == 1 else 'them'}, or leave "
            f"{'it' if count == 1 else 'them'} out."
        )


def find_outliers(
    metric: AudioMetric, reference: EmbeddingSet, evaluated: EmbeddingSet
) -> Outliers | None:
    """The few clips that decide a score of vectors; None if all clips have their share."""
    if "vectors" not in metric.accepts:
        return None
    files = (*reference.files, *evaluated.files)
    sides = [metric.ground.adapt_vectors(side.vectors) for side in (reference, evaluated)]
    wide = np.concatenate(sides).astype(np.float64)
    squares = np.square(wide - np.median(wide, axis=0)).sum(axis=1)
    order = np.argsort(-squares, kind="stable")
    shares = np.cumsum(squares[order]) / max(float(squares.sum()), np.finfo(float).tiny)
    enough = int(np.searchsorted(shares, _MOST)) + 1
    if enough > _FEW * len(files):
        return None
    return Outliers(tuple(files[k] for k in order[:enough]), float(shares[enough - 1]))
