"""Triplets (a, p, n) from the four probes of the paper: recall, semantic, precision, structural.

p is another clean clip of a's class. n is, for recall, a clip of any other class; for semantic, one
of a neighbouring class (class replacement); for precision, a itself with noise; for structural, a
itself cut and shuffled. Half of the negatives from other classes come from a's own collection, or
else the collections would be learned instead of the sounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
from otadtk.training.datasets import LabelledClip
from otadtk.training.versions import CLEAN, VersionSet

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
    """Draws triplets from the clips of some classes; the same generator draws the same triplets."""

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
        self._companions: dict[int, Rows] = {}
        self._strangers: dict[tuple[int, str, int], Rows] = {}

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
        """``count`` triplets of one probe; fewer only where no clip has what the probe needs."""
        if probe not in PROBES:
            raise UsageError(f"Unknown probe {probe!r}; choose from {', '.join(PROBES)}.")
        anchors = self._usable
        if probe in ("precision", "structural"):
            spoilt = self._noise if probe == "precision" else self._shuffled
            anchors = anchors[spoilt[anchors] >= 0]
        if len(anchors) == 0:
            nothing = np.zeros(0, dtype=np.int64)
            return Triplets(nothing, nothing, nothing)
        chosen = rng.choice(anchors, size=count)
        positives = np.array([self._companion(a, rng) for a in chosen], dtype=np.int64)
        if probe in ("precision", "structural"):
            negatives = spoilt[chosen]
        else:
            others = [self._stranger(a, probe, rng) for a in chosen]
            negatives = self._clean[np.array(others, dtype=np.int64)]
        return Triplets(self._clean[chosen], self._clean[positives], negatives)

    def _companion(self, anchor: int, rng: np.random.Generator) -> int:
        """Another clip of the class, of another recording where there is one."""
        pool = self._companions.get(anchor)
        if pool is None:
            members = self._members[self._label[anchor]]
            apart = members[self._recording[members] != self._recording[anchor]]
            pool = apart if len(apart) else members[members != anchor]
            self._companions[anchor] = pool
        return int(pool[rng.integers(len(pool))])

    def _stranger(self, anchor: int, probe: str, rng: np.random.Generator) -> int:
        """A clip of another class, half of the time of the same collection if it has one."""
        own = int(self._label[anchor])
        source = int(self._source[anchor]) if rng.random() < 0.5 else -1
        pool = self._strangers.get((own, probe, source))
        if pool is None:
            classes = self._neighbours[own] if probe == "semantic" else self._classes
            pool = np.concatenate([self._members[c] for c in classes if c != own])
            alike = pool[self._source[pool] == source]
            pool = alike if source >= 0 and len(alike) else pool
            self._strangers[own, probe, source] = pool
        return int(pool[rng.integers(len(pool))])
