"""The correlations of published distances with published ratings: a check of the code (B.3)."""

from __future__ import annotations

from dataclasses import dataclass

from otadtk.errors import UsageError
from otadtk.experiments.foley import number, read_columns, read_ratings
from otadtk.experiments.mos_show import draw, tables
from otadtk.experiments.rows import Row
from otadtk.experiments.run import Experiment, Source, Task


@dataclass(frozen=True)
class PublishedConfig:
    """The name of the metric in the distances file."""

    metric: str = "fad"


def tasks(config: PublishedConfig, source: Source) -> list[Task]:
    """One task that joins distances and ratings."""
    request = source.request
    if request.distances is None or request.ratings is None:
        raise UsageError(
            "mos-published needs --distances CSV (encoder,alg,category,fad) and --ratings CSV "
            "(submission,alg,category,criterion,mos)."
        )
    distances, ratings_path = request.distances, request.ratings

    def compute() -> list[Row]:
        ratings, _ = read_ratings(ratings_path)
        rows: list[Row] = []
        for row in read_columns(distances, ("encoder", "alg", "category", config.metric)):
            cell = ratings.get((row["alg"], row["category"]))
            if cell is None:
                raise UsageError(
                    f"{ratings_path} has no rating of {row['alg']} {row['category']}, which "
                    f"{distances} has."
                )
            head: Row = {"origin": "published", "model": row["encoder"]}
            head |= {"system": row["alg"], "category": row["category"], **cell}
            value = number(distances, row[config.metric])
            rows.append(head | {"metric": config.metric, "value": value})
        return rows

    return [Task("published", compute)]


EXPERIMENT = Experiment(
    "mos-published",
    PublishedConfig(),
    PublishedConfig(),
    tasks,
    lambda rows: tables(rows, signed=True)[:1],
    draw,
    needs_data=False,
)
