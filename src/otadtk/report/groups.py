"""Cost and score of each group of clips, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.distances.subsets import transport_between
from otadtk.engine import LocalEngine
from otadtk.files.printable import readable
from otadtk.metrics.diagnostics import Evidence
from otadtk.report.clips.table import ClipTable
from otadtk.report.threads import in_threads
from otadtk.report.user_csv import Grouping
from otadtk.statistics.resampling import Interval, jackknife_interval

Array = NDArray[np.floating]

_RESAMPLES = 1000
_SEED = 0
_LEAST_CLIPS = 6
"""With fewer clips on a side a group has no score: it would be mostly floor."""
_JACKKNIFE_GROUPS = 4
"""Enough for an interval of a small set."""
_MOST_SCORED = 200
"""With more groups than this none is scored."""


@dataclass(frozen=True)
class GroupRow:
    """One group of evaluated clips."""

    name: str
    clips: int
    cost: float
    """Mean relative cost."""
    cost_low: float | None
    cost_high: float | None
    """95 % bootstrap interval of the mean; ``None`` for a single clip."""
    score: float | None
    """OTAD between the group and the reference clips of the same group."""
    score_low: float | None
    score_high: float | None


@dataclass(frozen=True)
class GroupTable:
    """The groups of one grouping, worst first."""

    title: str
    rows: tuple[GroupRow, ...]
    scored: bool
    """Whether any group has a score; that needs the groups of the reference clips."""


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
                score = jackknife_interval(
                    distance,
                    len(x),
                    len(y),
                    groups=_JACKKNIFE_GROUPS,
                    seed=_SEED,
                    engine=LocalEngine(1),
                )
        return GroupRow(
            readable(name),
            int(mine.sum()),
            float(costs.mean()),
            low,
            high,
            *((score.score, score.low, score.high) if score is not None else (None, None, None)),
        )

    rows = sorted(in_threads(row, names), key=lambda row: (-row.cost, row.name))
    scored = any(row.score is not None for row in rows)
    return GroupTable(readable(grouping.title), tuple(rows), scored)


def mean_interval(costs: Array) -> tuple[float | None, float | None]:
    """A 95 % percentile bootstrap interval of the mean of the costs."""
    if len(costs) < 2:
        return None, None
    rng = np.random.default_rng(_SEED)
    means = costs[rng.integers(0, len(costs), (_RESAMPLES, len(costs)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
