"""Correlations of published distances with published ratings, as a check of the code (B.3).

The rows hold only the correlations, not the distances and ratings, which are not ours to publish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from otadtk.errors import UsageError
from otadtk.experiments.figure import BLUE, GREY, ORANGE, PAGE, panels
from otadtk.experiments.mos.foley import CRITERIA, number, read_columns, read_ratings
from otadtk.experiments.mos.show import LEVELS, correlate
from otadtk.experiments.rows import Row, Value, column, distinct, select
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PublishedConfig:
    """The name of the metric in the distances file."""

    metric: str = "fad"


def tasks(config: PublishedConfig, source: Source) -> list[Task]:
    """One task, which joins distances and ratings and correlates them."""
    request = source.request
    distances, ratings = request.distances, request.one_ratings_file
    if distances is None or ratings is None:
        raise UsageError(
            "mos-published needs --distances CSV (encoder,alg,category,fad) and --ratings CSV "
            "(submission,alg,category,criterion,mos)."
        )

    def compute() -> list[Row]:
        cells = _join(distances, ratings, config.metric)
        rows: list[Row] = []
        for model in distinct(cells, "model"):
            own = select(cells, model=model)
            counts = {"system": len(distinct(own, "system")), "category": len(own)}
            for criterion in CRITERIA:
                for level in LEVELS:
                    rho = correlate(own, model, config.metric, level, criterion)
                    assert rho is not None
                    head: Row = {"model": model, "metric": config.metric, "criterion": criterion}
                    head |= {"level": level, "n": counts[level]}
                    rows.append(head | {"rho": rho.value, "low": rho.low, "high": rho.high})
        return rows

    return [Task("published", compute)]


def _join(distances: Path, ratings: Path, metric: str) -> list[Row]:
    """Every cell of every encoder: its distance and its ratings."""
    rated, _ = read_ratings(ratings)
    rows: list[Row] = []
    for row in read_columns(distances, ("encoder", "alg", "category", metric)):
        cell = rated.get((row["alg"], row["category"]))
        if cell is None:
            raise UsageError(
                f"{ratings} has no rating of {row['alg']} {row['category']}, which {distances} has."
            )
        head: Row = {"model": row["encoder"], "system": row["alg"], "category": row["category"]}
        rows.append(head | cell | {"metric": metric, "value": number(distances, row[metric])})
    return rows


def _groups(rows: Sequence[Row]) -> list[tuple[Value, Value]]:
    return [(c, level) for c in distinct(rows, "criterion") for level in distinct(rows, "level")]


def _ordered(rows: Sequence[Row]) -> list[Value]:
    """The encoders, best correlation with audio quality over cells first."""
    cells = select(rows, criterion=CRITERIA[0], level="category")
    return [row["model"] for row in sorted(cells, key=lambda row: float(row["rho"]))]


def tables(rows: Sequence[Row]) -> list[Table]:
    """One row per encoder."""
    groups = _groups(rows)
    cells = []
    for model in _ordered(rows):
        cell = [str(model)]
        for criterion, level in groups:
            (own,) = select(rows, model=model, criterion=criterion, level=level)
            rho, low, high = (float(own[name]) for name in ("rho", "low", "high"))
            cell.append(f"{rho:.3f} ({low:.2f}, {high:.2f})")
        cells.append(cell)
    heads = []
    for criterion, level in groups:
        size = select(rows, criterion=criterion, level=level)[0]["n"]
        heads.append(f"{str(criterion).replace('_', ' ')}, n = {size}")
    return [
        Table(
            "Spearman’s ρ of published FAD values and published ratings, with 95 % bootstrap "
            "intervals; negative is better, because a good distance falls as ratings rise",
            ["encoder", *heads],
            cells,
        )
    ]


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """ρ and its interval by encoder, one panel per criterion."""
    models = _ordered(rows)
    height = 0.9 + 0.16 * len(models)
    with panels(1, 2, width=PAGE, height=height, sharex=True, sharey=True) as (figure, axes):
        for place, criterion in zip(axes, CRITERIA, strict=True):
            place.axvline(0.0, color=GREY, linewidth=0.8)
            looks = zip(LEVELS, (ORANGE, BLUE), "so", (0.17, -0.17), strict=True)
            for level, colour, marker, shift in looks:
                own = [select(rows, model=m, criterion=criterion, level=level)[0] for m in models]
                rho, low, high = (column(own, name) for name in ("rho", "low", "high"))
                place.errorbar(
                    rho,
                    [index + shift for index in range(len(models))],
                    xerr=np.maximum([rho - low, high - rho], 0.0),
                    fmt=marker,
                    color=colour,
                    elinewidth=0.8,
                    markersize=3.5,
                    label=f"by {level}, n = {own[0]['n']}",
                )
            place.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
            place.set_xlabel("Spearman’s ρ of FAD and rating")
            place.set_title(str(criterion).replace("_", " "), loc="left")
        axes[0].set_yticks(range(len(models)), [str(model) for model in models])
        axes[0].invert_yaxis()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2)
    return {"correlation": figure}


EXPERIMENT = Experiment(
    "mos-published", PublishedConfig(), PublishedConfig(), tasks, tables, draw, needs_data=False
)
