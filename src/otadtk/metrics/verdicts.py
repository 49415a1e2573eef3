"""Verdicts on single clips of two embedded sets, in the ground metric of a metric.

The evaluated clips are judged by the reference. Where they can be a crowd, that is done in the space
that the metric has for single clips. The reference clips are judged by the evaluated ones: those that
nothing evaluated comes near are modes that a generator has dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from otadtk.metrics.ground import GroundMetric
from otadtk.statistics.conformal import IndexArray
from otadtk.statistics.judging import LEAST_REFERENCE, Squares, crowds, judge_clips
from otadtk.statistics.prices import FloatArray
from otadtk.statistics.verdicts import DEFAULT_FDR, Verdicts

if TYPE_CHECKING:
    from otadtk.metrics.diagnostics import Evidence

Groups = tuple[Sequence[str], Sequence[str]]
"""The group of each reference clip and of each evaluated clip."""

Vectors = NDArray[np.float32]

BAD, GOOD = "bad", "ok"
_ALL_AT_ONCE = 3_000
"""Points of which all distances are held: 72 MB."""


@dataclass(frozen=True)
class Judgement:
    """The verdicts on the clips of both sides; ``None`` where the other side is too small."""

    evaluated: Verdicts | None
    reference: Verdicts | None

    def at(self, fdr: float) -> Judgement:
        """The same at another rate of false alarms."""
        sides = (self.evaluated, self.reference)
        evaluated, reference = (None if side is None else side.at(fdr) for side in sides)
        return replace(self, evaluated=evaluated, reference=reference)


def judge(
    evidence: Evidence,
    *,
    fdr: float = DEFAULT_FDR,
    groups: Groups | None = None,
    seed: int = 0,
) -> Judgement:
    """The verdicts on both sides, from the distances between their clips."""
    x, y = (side.vectors for side in (evidence.reference, evidence.evaluated))
    swapped = None if groups is None else (groups[1], groups[0])

    def verdicts(
        by: Vectors, on: Vectors, space: GroundMetric, of: Groups | None
    ) -> Verdicts | None:
        if len(by) < LEAST_REFERENCE:
            return None
        points = np.concatenate([space.adapt_vectors(side) for side in (by, on)])
        squares = squares_between(points.astype(np.float64))
        return judge_clips(squares, len(by), len(on), fdr=fdr, groups=of, seed=seed)

    ground = evidence.ground
    space = ground.for_clips if crowds(len(x), len(y), grouped=groups is not None) else ground
    return Judgement(verdicts(x, y, space, groups), verdicts(y, x, ground, swapped))


def squares_between(points: FloatArray) -> Squares:
    """The squared distances between subsets of these points; of few points all are computed once."""
    centred = points - points.mean(axis=0)
    norms = np.square(centred).sum(axis=1)

    def squares(i: IndexArray, j: IndexArray) -> FloatArray:
        found: FloatArray = norms[i][:, None] + norms[j] - 2.0 * (centred[i] @ centred[j].T)
        return np.maximum(found, 0.0, out=found)

    if len(points) > _ALL_AT_ONCE:
        return squares
    everyone = np.arange(len(points))
    table = squares(everyone, everyone)
    return lambda i, j: table[np.ix_(i, j)]


def words(verdicts: Verdicts) -> list[str]:
    """The verdict on each clip as it is written to files."""
    return [BAD if bad else GOOD for bad in verdicts.bad]
