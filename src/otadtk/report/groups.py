"""Which group of clips is worst: cost and score of each group, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.diagnosis import Evidence
from otadtk.distances.subsets import transport_between
from otadtk.report.content import ClipTable, readable
from otadtk.report.frames import in_threads
from otadtk.report.tables import Grouping
from otadtk.resampling import Interval, jackknife_interval

Array = NDArray[np.floating]

_RESAMPLES = 1000
_SEED = 0
_LEAST_CLIPS = 6
"""Clips a side below which a group has a cost but no score: it would be mostly floor."""
_PARTS = 4
"""Groups of the jackknife: enough for an interval of a small set."""
_MOST_SCORED = 200


@dataclass(frozen=True)
class GroupRow:
    """One group of evaluated clips."""

    name: str
    clips: int
    cost: float
    """Mean relative cost."""
    cost_low: float | None
    cost_high: float | None
    """95 % interval over draws of the clips; ``None`` for a single clip."""
    score: float | None
    """OTAD between the group and the reference clips of its own group."""
    score_low: float | None
    score_high: float | None


@dataclass(frozen=True)
class GroupTable:
    """One way to divide the clips, worst group first."""

    title: str
    rows: tuple[GroupRow, ...]
    scored: bool
    """Whether the groups of the reference clips are known, so that groups have scores."""


def group_tables(
    groupings: Sequence[Grouping], table: ClipTable, evidence: Evidence
) -> list[GroupTable]:
    """A table for each grouping."""
    return [_table(grouping, table, evidence) for grouping in groupings]


def _table(grouping: Grouping, table: ClipTable, evidence: Evidence) -> GroupTable:
    of_evaluated = np.asarray(grouping.evaluated, dtype=object)
    of_reference = np.asarray(grouping.reference, dtype=object)
    names = sorted(set(grouping.evaluated))
    comparable = len(of_reference) > 0 and len(names) <= _MOST_SCORED

    def row(name: str) -> GroupRow:
        mine = of_evaluated == name
        costs = table.relative[mine]
        low, high = mean_interval(costs)
        score: Interval | None = None
        if comparable:
            x, y = table.reference.points[of_reference == name], table.evaluated.points[mine]
            if min(len(x), len(y)) >= _LEAST_CLIPS:
                distance = transport_between(np.concatenate([x, y]), evidence.settings)
                score = jackknife_interval(distance, len(x), len(y), groups=_PARTS, seed=_SEED)
        return GroupRow(
            *(readable(name), int(mine.sum()), float(costs.mean()), low, high),
            *((score.score, score.low, score.high) if score is not None else (None, None, None)),
        )

    rows = sorted(in_threads(row, names), key=lambda row: (-row.cost, row.name))
    scored = any(row.score is not None for row in rows)
    return GroupTable(readable(grouping.title), tuple(rows), scored)


def mean_interval(costs: Array) -> tuple[float | None, float | None]:
    """A 95 % percentile bootstrap interval of the mean cost; the costs themselves stay as they are."""
    if len(costs) < 2:
        return None, None
    rng = np.random.default_rng(_SEED)
    means = costs[rng.integers(0, len(costs), (_RESAMPLES, len(costs)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
