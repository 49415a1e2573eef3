"""Tables of agreement: a metric in each row, a test in each column, the listeners below."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from otadtk.experiments.listening.chart import draw_agreement
from otadtk.experiments.listening.dissimilarity import PAIRS
from otadtk.experiments.listening.levels import APART, CLIP, LEVELS, PAIRED, SETS, WITHIN
from otadtk.experiments.rows import Row, column, distinct, select
from otadtk.experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MeasureKey = tuple[str, str, str]
"""Model, metric, variant."""

_WHAT = {
    PAIRED: "systems, by the mean distance of their clips to the clips’ own references",
    SETS: "systems, by the distance between their clips and the clips’ own references as sets",
    APART: "systems, by the distance between their clips and references of other items",
    CLIP: "single clips, by the distance to their own references",
    WITHIN: "the clips of one item, by the distance to their own references; mean over items",
}
_CEILING_OF = {PAIRED: PAIRED, SETS: PAIRED, APART: APART, CLIP: CLIP}
_LISTENERS = {"ceiling": "ceiling", "one listener against the rest": "one_against_rest"}
"""What tables say of the listeners, and the column that holds it."""
_REPLICATES = 2000


def measure_keys(rows: Sequence[Row]) -> list[MeasureKey]:
    """The metrics of the rows, in their order."""
    own = select(rows, part="agreement")
    keys = ((str(r["model"]), str(r["metric"]), str(r["variant"])) for r in own)
    return list(dict.fromkeys(keys))


def measure_name(key: MeasureKey) -> str:
    """A metric as tables and figures call it."""
    model, metric, variant = key
    return f"{model}, OTAD-{variant}" if metric == "OTAD" else f"{model}, {metric}"


def of_measure(rows: Sequence[Row], key: MeasureKey) -> list[Row]:
    """The rows of one metric."""
    return select(rows, model=key[0], metric=key[1], variant=key[2])


def tables(rows: Sequence[Row]) -> list[Table]:
    """One table for each level, one of the other statistics, and two of dissimilarities."""
    agreement = select(rows, part="agreement")
    found = [
        _level_table(select(agreement, level=level), select(rows, part="ceiling"), level)
        for level in LEVELS
        if select(agreement, level=level)
    ]
    rated = select(agreement, kind="ratings")
    found += [_statistics_table(rated)] if rated else []
    studies = select(agreement, level=PAIRS)
    return [*found, _studies_table(studies)] if studies else found


def _level_table(own: Sequence[Row], ceilings: Sequence[Row], level: str) -> Table:
    sets = distinct(own, "set")
    sizes = [select(own, set=name)[0]["n"] for name in sets]
    common = [
        name
        for name in sets
        if all(select(of_measure(own, k), set=name) for k in measure_keys(own))
    ]
    cells = []
    for key in measure_keys(own):
        mine = of_measure(own, key)
        shown = [_each(select(mine, set=name), _with_interval) for name in sets]
        mean = column([row for row in mine if row["set"] in common], "spearman")
        cells.append([measure_name(key), *shown, f"{mean.mean():.3f}" if len(mean) else ""])
    limits = select(ceilings, level=_CEILING_OF.get(level, ""))
    for title, name in _LISTENERS.items():
        shown = [_each(select(limits, set=test), _number(name)) for test in sets]
        if any(shown):
            cells.append([title, *shown, ""])
    heads = [f"{name}, n = {size}" for name, size in zip(sets, sizes, strict=True)]
    return Table(
        f"Agreement with listeners on {_WHAT[level]}: Spearman’s ρ, positive where smaller "
        "distances have better ratings, with 95 % bootstrap intervals over items",
        ["metric", *heads, f"mean of {len(common)}"],
        cells,
    )


def _each(found: Sequence[Row], shown: Callable[[Row], str]) -> str:
    return shown(found[0]) if found else ""


def _number(name: str) -> Callable[[Row], str]:
    return lambda row: f"{float(row[name]):.3f}" if name in row else ""


def _with_interval(row: Row) -> str:
    value = f"{float(row['spearman']):.3f}"
    if "spearman_low" not in row:
        return value
    return f"{value} ({float(row['spearman_low']):.2f}, {float(row['spearman_high']):.2f})"


def _statistics_table(own: Sequence[Row]) -> Table:
    """Kendall, Pearson and p of everything but dissimilarities."""
    sets = distinct(own, "set")

    def shown(row: Row) -> str:
        parts = [f"{float(row['kendall']):.2f}", f"{float(row['pearson']):.2f}"]
        return " / ".join([*parts, f"{float(row['p']):.2g}" if "p" in row else "–"])

    cells = []
    for level in LEVELS:
        for key in measure_keys(select(own, level=level)):
            mine = select(of_measure(own, key), level=level)
            named = f"{level}: {measure_name(key)}"
            cells.append([named, *(_each(select(mine, set=name), shown) for name in sets)])
    return Table(
        "Kendall’s τ / Pearson’s r / one-sided p of Spearman’s ρ: over all orders of up to eight "
        "systems, else over random ones; within items by orders within items",
        ["level: metric", *(str(name) for name in sets)],
        cells,
    )


def mean_of_studies(own: Sequence[Row]) -> tuple[float, float, float]:
    """The mean Spearman’s ρ over dissimilarity studies and its 95 % interval over studies."""
    values = column(own, "spearman")
    if len(values) < 3:
        return float(values.mean()), math.nan, math.nan
    drawn = np.random.default_rng(0).integers(len(values), size=(_REPLICATES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    return float(values.mean()), float(low), float(high)


def _studies_table(own: Sequence[Row]) -> Table:
    keys, names = measure_keys(own), distinct(own, "set")
    cells = []
    for name in names:
        size = select(own, set=name)[0]["n"]
        shown = [_each(select(of_measure(own, k), set=name), _number("spearman")) for k in keys]
        cells.append([f"{name}, n = {size}", *shown])
    means = [mean_of_studies(of_measure(own, key)) for key in keys]
    shown = [
        f"**{mean:.3f}**" + ("" if math.isnan(low) else f" ({low:.2f}, {high:.2f})")
        for mean, low, high in means
    ]
    cells.append([f"**mean of {len(names)}**", *shown])
    return Table(
        "Agreement with dissimilarities stated by listeners: Spearman’s ρ over the pairs of n "
        "sounds; the mean with its 95 % bootstrap interval over studies",
        ["study", *(measure_name(key) for key in keys)],
        cells,
    )


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """One panel for each level: tests downwards, agreement to the right."""
    agreement = select(rows, part="agreement")
    keys = measure_keys(rows)
    names = {key: measure_name(key) for key in keys}
    panels: dict[str, dict[str, dict[str, tuple[float, float, float]]]] = {}
    for level in LEVELS:
        for row in select(agreement, level=level):
            key = (str(row["model"]), str(row["metric"]), str(row["variant"]))
            ends = [float(row.get(f"spearman{end}", math.nan)) for end in ("", "_low", "_high")]
            tests = panels.setdefault(level, {}).setdefault(str(row["set"]), {})
            tests[names[key]] = ends[0], ends[1], ends[2]
    studies = select(agreement, level=PAIRS)
    if studies:
        title = f"mean of {len(distinct(studies, 'set'))}"
        means = {names[k]: mean_of_studies(of_measure(studies, k)) for k in measure_keys(studies)}
        panels[PAIRS] = {title: means}
    limits = {
        (level, str(row["set"])): float(row["ceiling"])
        for level, source in _CEILING_OF.items()
        for row in select(rows, part="ceiling", level=source)
    }
    return {"agreement": draw_agreement(panels, list(names.values()), limits)}
