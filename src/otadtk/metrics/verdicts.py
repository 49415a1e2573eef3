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
    sides = [side.vectors for side in (evidence.reference, evidence.evaluated)]
    n, m = (len(side) for side in sides)
    ground = evidence.ground
    space = ground.for_clips if crowds(n, m, grouped=groups is not None) else ground
    evaluated = reference = squares = None
    if n >= LEAST_REFERENCE:
        squares = _squares_in(space, sides)
        evaluated = judge_clips(squares, n, m, fdr=fdr, groups=groups, seed=seed)
    if m >= LEAST_REFERENCE:
        if squares is None or space is not ground:
            squares = _squares_in(ground, sides)
        swapped = None if groups is None else (groups[1], groups[0])
        back = _swapped(squares, n, m)
        reference = judge_clips(back, m, n, fdr=fdr, groups=swapped, seed=seed)
    return Judgement(evaluated, reference)


def _squares_in(space: GroundMetric, sides: Sequence[Vectors]) -> Squares:
    points = [space.adapt_vectors(side) for side in sides]
    return squares_between(np.concatenate(points, dtype=np.float64))


def _swapped(squares: Squares, n: int, m: int) -> Squares:
    """The same where the m evaluated clips come first, and the n reference clips after them."""
    place = np.concatenate([n + np.arange(m), np.arange(n)])
    return lambda i, j: squares(place[i], place[j])


def squares_between(points: FloatArray) -> Squares:
    """The squared distances between subsets of these points; of few points all are computed once."""
    centred = points - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)

    def squares(i: IndexArray, j: IndexArray) -> FloatArray:
        found: FloatArray = norms[i][:, None] + norms[j] - 2.0 * (centred[i] @ centred[j].T)
        return np.maximum(found, 0.0, out=found)

    if len(points) > _ALL_AT_ONCE:
        return squares
    table = norms[:, None] + norms - 2.0 * (centred @ centred.T)
    np.maximum(table, 0.0, out=table)
    return lambda i, j: table[np.ix_(i, j)]


def words(verdicts: Verdicts) -> list[str]:
    """The verdict on each clip as it is written to files."""
    return [BAD if bad else GOOD for bad in verdicts.bad]
