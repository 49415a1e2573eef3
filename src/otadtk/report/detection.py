"""How well the costs find the known bad clips, overall and by kind of fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.statistics.ranking import auroc

Costs = NDArray[np.float64]


@dataclass(frozen=True)
class KindDetection:
    """One kind of fault against the clean clips."""

    kind: str
    clips: int
    auroc: float
    found: int
    """How many of its clips are among the ``cut`` clips of largest cost."""
    precision: float
    """``found / cut``."""
    median_rank: float


@dataclass(frozen=True)
class Detection:
    """The costs as a detector of the known bad clips."""

    bad: int
    clips: int
    auroc: float
    separation_ratio: float | None
    """Mean cost of the bad clips over that of the others; ``None`` if the others cost 0."""
    cut: int
    """The number of bad clips. Precision is measured among that many clips of largest cost."""
    precision: float
    roc: tuple[tuple[float, float], ...]
    """(false positive rate, true positive rate), from (0, 0) to (1, 1)."""
    kinds: tuple[KindDetection, ...]


def detection(costs: Costs, labels: Sequence[str]) -> Detection:
    """How well the costs find the clips whose label is not empty."""
    kinds = np.asarray(labels, dtype=object)
    bad = kinds != ""
    order = np.argsort(-costs, kind="stable")
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(1, len(order) + 1)
    cut = int(bad.sum())
    rows = []
    for kind in sorted(set(kinds[bad])):
        mine = kinds == kind
        against = mine | ~bad
        found = int((rank[mine] <= cut).sum())
        rows.append(
            KindDetection(
                kind,
                int(mine.sum()),
                auroc(mine[against], costs[against]),
                found,
                found / cut,
                float(np.median(rank[mine])),
            )
        )
    return Detection(
        bad=cut,
        clips=len(costs),
        auroc=auroc(bad, costs),
        separation_ratio=_ratio(costs[bad].mean(), costs[~bad].mean()),
        cut=cut,
        precision=float((rank[bad] <= cut).mean()),
        roc=_roc(costs, bad),
        kinds=tuple(sorted(rows, key=lambda row: (-row.auroc, row.kind))),
    )


def _ratio(above: float, below: float) -> float | None:
    return float(above / below) if below > 0 else None


def _roc(costs: Costs, bad: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Corners of the curve; clips of equal cost make one slanted step."""
    order = np.argsort(-costs, kind="stable")
    sorted_costs, sorted_bad = costs[order], bad[order]
    last = np.append(np.flatnonzero(np.diff(sorted_costs)), len(costs) - 1)
    true = np.cumsum(sorted_bad)[last] / bad.sum()
    false = np.cumsum(~sorted_bad)[last] / (~bad).sum()
    points = [(0.0, 0.0), *zip(false.tolist(), true.tolist(), strict=True)]
    # points on a straight segment add nothing
    kept = [
        point
        for k, point in enumerate(points)
        if k in (0, len(points) - 1) or not _straight(points[k - 1], point, points[k + 1])
    ]
    return tuple(kept)


def _straight(
    before: tuple[float, float], point: tuple[float, float], after: tuple[float, float]
) -> bool:
    (x0, y0), (x1, y1), (x2, y2) = before, point, after
    return abs((x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)) < 1e-12
