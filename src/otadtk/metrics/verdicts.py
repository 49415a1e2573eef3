"""Verdicts on single clips of two embedded sets, by the transport costs of a metric.

The evaluated clips are judged by the reference, and the reference clips by the evaluated ones:
those that nothing evaluated comes near are modes that a generator has dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from otadtk.engine import Engine
from otadtk.statistics.verdicts import DEFAULT_FDR, Verdicts, judge_clips

if TYPE_CHECKING:
    from otadtk.metrics.diagnostics import Evidence

Groups = tuple[Sequence[str], Sequence[str]]
"""The group of each reference clip and of each evaluated clip."""

BAD, GOOD = "bad", "ok"
LEAST_CLIPS = 2
"""Clips that a side needs to judge the other one."""
TRANSPORTS = 16
"""Transports that the verdicts on one side take."""


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
    engine: Engine,
) -> Judgement:
    """The verdicts on both sides, from transports between parts of them."""
    from otadtk.distances.clip_costs import clip_costs_between

    sides = [evidence.reference.vectors, evidence.evaluated.vectors]
    (points,) = evidence.ground.adapt([np.concatenate(sides)], None)
    costs = clip_costs_between(points, evidence.settings)
    n, m = len(sides[0]), len(sides[1])
    x, y = np.arange(n), n + np.arange(m)

    def verdicts(by: np.ndarray, on: np.ndarray, of: Groups | None) -> Verdicts | None:
        if len(by) < LEAST_CLIPS:
            return None
        return judge_clips(costs, by, on, fdr=fdr, groups=of, seed=seed, engine=engine)

    swapped = None if groups is None else (groups[1], groups[0])
    return Judgement(verdicts(x, y, groups), verdicts(y, x, swapped))


def words(verdicts: Verdicts) -> list[str]:
    """The verdict on each clip as it is written to files."""
    return [BAD if bad else GOOD for bad in verdicts.bad]
