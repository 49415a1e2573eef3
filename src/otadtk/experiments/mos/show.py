"""Tables and figure of the correlations of distances with ratings, by system and by cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from otadtk.experiments.figure import CYCLE, MARKERS, PAGE, panels
from otadtk.experiments.mos.foley import CRITERIA
from otadtk.experiments.paper import MOS_BACKBONE, MOS_FIT, MOS_QUALITY
from otadtk.experiments.rows import Row, Value, column, distinct, select
from otadtk.experiments.table import Table
from otadtk.statistics.ranking import Correlation, rank_correlation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = ("system", "category")
METRICS = ("fad", "kad", "otad-raw", "otad-agnostic", "otad-native")
_NAMES = {
    **{"fad": "FAD", "kad": "KAD", "otad-raw": "OTAD-raw"},
    **{"otad-agnostic": "OTAD-agn", "otad-native": "OTAD-nat"},
}


def correlate(
    rows: Sequence[Row], model: Value, metric: str, level: str, criterion: str
) -> Correlation | None:
    """ρ of a metric with a criterion, over systems (means of their cells) or over all cells."""
    own = select(rows, model=model, metric=metric)
    if not own:
        return None
    if level == "category":
        return rank_correlation(column(own, "value"), column(own, criterion))
    systems = [select(own, system=system) for system in distinct(own, "system")]
    values = [column(system, "value").mean() for system in systems]
    return rank_correlation(values, [column(system, criterion).mean() for system in systems])


def _count(rows: Sequence[Row], level: str) -> int:
    first = distinct(rows, "model")[0]
    own = select(rows, model=first, metric=distinct(rows, "metric")[0])
    return len(own) if level == "category" else len(distinct(own, "system"))


def tables(rows: Sequence[Row]) -> list[Table]:
    """Both criteria at both levels, then the comparison of backbones (B.3)."""
    return [_correlations(rows), _backbones(rows)]


def _correlations(rows: Sequence[Row]) -> Table:
    metrics = [metric for metric in METRICS if metric in distinct(rows, "metric")]
    cells = []
    for criterion in CRITERIA:
        for level in LEVELS:
            for model in distinct(rows, "model"):
                found = (correlate(rows, model, metric, level, criterion) for metric in metrics)
                title = f"{criterion.replace('_', ' ')}, n = {_count(rows, level)}, {model}"
                cells.append([title, *(_shown(rho) for rho in found)])
    for (level, encoder), values in MOS_QUALITY.items():
        size = 9 if level == "system" else 63
        shown = [f"{value:.3f}" for value in values[: len(metrics)]]
        cells.append([f"audio quality, n = {size}, {encoder} (paper)", *shown])
    for level, values in MOS_FIT.items():
        size = 9 if level == "system" else 63
        shown = [f"{value:.3f}" for value in values[: len(metrics)]]
        cells.append([f"category fit, n = {size}, mean of five (paper)", *shown])
    return Table(
        "−ρ (Spearman) of distances and ratings, with 95 % bootstrap intervals "
        f"({distinct(rows, 'origin')[0]} clips)",
        ["criterion, size, encoder", *(_NAMES[metric] for metric in metrics)],
        cells,
    )


def _shown(rho: Correlation | None) -> str:
    if rho is None:
        return ""
    return f"{0.0 - rho.value:.3f} ({0.0 - rho.high:.2f}, {0.0 - rho.low:.2f})"


def _backbones(rows: Sequence[Row]) -> Table:
    """The table of B.3 for these encoders; the paper compares two variants of PANNs there."""
    metrics = METRICS[:4]
    cells = []
    for level in LEVELS:
        for model in distinct(rows, "model"):
            found = (correlate(rows, model, m, level, "audio_quality") for m in metrics)
            shown = ("" if rho is None else f"{-rho.value:.2f}" for rho in found)
            cells.append([f"n = {_count(rows, level)}, {model}", *shown])
    for (level, variant), values in MOS_BACKBONE.items():
        size = 9 if level == "system" else 63
        cells.append([f"n = {size}, PANNs {variant} (paper)", *(f"{v:.2f}" for v in values)])
    return Table(
        "Dependence on the backbone: −ρ with audio quality",
        ["size, encoder", *(_NAMES[metric] for metric in metrics)],
        cells,
    )


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """ρ by system and by cell: a line for the mean over encoders, faint lines for each encoder."""
    metrics = [metric for metric in METRICS if metric in distinct(rows, "metric")]
    with panels(1, 2, width=PAGE, height=2.5, sharey=True) as (figure, axes):
        for place, criterion in zip(axes, CRITERIA, strict=True):
            for number, metric in enumerate(metrics):
                lines = []
                for model in distinct(select(rows, metric=metric), "model"):
                    ends = [correlate(rows, model, metric, level, criterion) for level in LEVELS]
                    lines.append([-end.value for end in ends if end is not None])
                    place.plot([0, 1], lines[-1], color=CYCLE[number], alpha=0.3, linewidth=0.7)
                place.plot(
                    [0, 1],
                    np.mean(lines, axis=0),
                    color=CYCLE[number],
                    marker=MARKERS[number],
                    label=_NAMES[metric],
                )
            place.set_xticks([0, 1], [f"{level}\nn = {_count(rows, level)}" for level in LEVELS])
            place.set_xlim(-0.2, 1.2)
            place.set_title(criterion.replace("_", " "), loc="left")
        axes[0].set_ylabel("−ρ (Spearman)")
        axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return {"correlation": figure}
