"""Draws triplets (anchor, positive, negative) for the paper's four probes.

The positive is another clean clip of the anchor's class. The negative depends on the probe:
recall, a clip of any other class; semantic, a clip of a neighbouring class; precision, the anchor
with noise; structural, the anchor cut and shuffled. Half of the negatives of other classes come
from the anchor's source collection, so that the adapter learns sounds and not collections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
from otadtk.training.datasets import LabelledClip
from otadtk.training.spoil import CLEAN
from otadtk.training.versions import VersionSet

PROBES = ("recall", "semantic", "precision", "structural")
_NEIGHBOURS = 5

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Triplets:
    """Rows of a ``VersionSet``: anchors, positives, negatives."""

    anchor: Rows
    positive: Rows
    negative: Rows


class TripletSampler:
    """Draws triplets from the ``chosen`` clips; the result depends on the generator alone."""

    def __init__(
        self, clips: Sequence[LabelledClip], versions: VersionSet, chosen: NDArray[np.bool_]
    ) -> None:
        self._clean, self._noise = versions.rows(CLEAN), versions.rows("noise")
        self._shuffled = versions.rows("shuffle")
        names, self._label = np.unique([clip.label for clip in clips], return_inverse=True)
        self._source = np.unique([clip.source for clip in clips], return_inverse=True)[1]
        self._recording = np.unique([clip.recording for clip in clips], return_inverse=True)[1]
        members = [np.flatnonzero((self._label == label) & chosen) for label in range(len(names))]
        self._members = members
        self._usable = np.concatenate([m for m in members if len(m) > 1] or [np.zeros(0, int)])
        self._classes = [label for label, m in enumerate(members) if len(m) > 0]
        if len(self._usable) == 0 or len(self._classes) < 2:
            raise UsageError("Triplets need two classes, and two clips in one of them.")
        self._neighbours = self._nearest_classes(versions)
        self._positives: dict[int, Rows] = {}
        self._negatives: dict[tuple[int, str, int], Rows] = {}

    def _nearest_classes(self, versions: VersionSet) -> dict[int, list[int]]:
        centres = np.stack(
            [versions.vectors[self._clean[self._members[c]]].mean(axis=0) for c in self._classes]
        )
        squares = (centres**2).sum(axis=1)
        distances = squares[:, None] + squares - 2.0 * centres @ centres.T
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBOURS]
        count = len(self._classes) - 1
        return {
            own: [self._classes[i] for i in row[:count]]
            for own, row in zip(self._classes, nearest, strict=True)
        }

    def draw(self, probe: str, count: int, rng: np.random.Generator) -> Triplets:
        """``count`` triplets of one probe; none if no clip has the version that it needs."""
        if probe not in PROBES:
            raise UsageError(f"Unknown probe {probe!r}; choose from {', '.join(PROBES)}.")
        anchors = self._usable
        if probe in ("precision", "structural"):
            degraded = self._noise if probe == "precision" else self._shuffled
            anchors = anchors[degraded[anchors] >= 0]
        if len(anchors) == 0:
            nothing = np.zeros(0, dtype=np.int64)
            return Triplets(nothing, nothing, nothing)
        chosen = rng.choice(anchors, size=count)
        positives = np.array([self._draw_positive(a, rng) for a in chosen], dtype=np.int64)
        if probe in ("precision", "structural"):
            negatives = degraded[chosen]
        else:
            others = [self._draw_negative(a, probe, rng) for a in chosen]
            negatives = self._clean[np.array(others, dtype=np.int64)]
        return Triplets(self._clean[chosen], self._clean[positives], negatives)

    def _draw_positive(self, anchor: int, rng: np.random.Generator) -> int:
        """Another clip of the anchor's class, if possible of another recording."""
        pool = self._positives.get(anchor)
        if pool is None:
            members = self._members[self._label[anchor]]
            apart = members[self._recording[members] != self._recording[anchor]]
            pool = apart if len(apart) else members[members != anchor]
            self._positives[anchor] = pool
        return int(pool[rng.integers(len(pool))])

    def _draw_negative(self, anchor: int, probe: str, rng: np.random.Generator) -> int:
        """A clip of another class; half of the time of the same source, if there is one."""
        own = int(self._label[anchor])
        source = int(self._source[anchor]) if rng.random() < 0.5 else -1
        pool = self._negatives.get((own, probe, source))
        if pool is None:
            classes = self._neighbours[own] if probe == "semantic" else self._classes
            pool = np.concatenate([self._members[c] for c in classes if c != own])
            alike = pool[self._source[pool] == source]
            pool = alike if source >= 0 and len(alike) else pool
            self._negatives[own, probe, source] = pool
        return int(pool[rng.integers(len(pool))])
