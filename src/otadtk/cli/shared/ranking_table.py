"""Prints the tables of ``otadtk-compare`` and ``otadtk-trend``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otadtk.evaluation.compare import Comparison, System
    from otadtk.tracking.trend import Trend


def print_ranking(comparisons: Sequence[Comparison]) -> None:
    """All models and metrics in one table, closest system first."""
    from otadtk.statistics.resampling import show_span

    any_higher = any(comparison.metric.higher_is_better for comparison in comparisons)
    header = [
        "model",
        "metric",
        "rank",
        "system",
        "clips",
        "score",
        "95 % (jackknife)",
        *_chance_header(comparisons),
        f"next is {'worse' if any_higher else 'farther'} by",
        f"95 % ({comparisons[0].method})",
        f"P({'better' if any_higher else 'closer'})",
    ]
    rows = [header]
    for comparison in comparisons:
        metric = comparison.metric
        for rank, system in enumerate(comparison.systems):
            lead, interval = comparison.lead(rank), system.interval
            row = [
                metric.model_name,
                metric.label,
                str(rank + 1),
                system.name,
                str(system.clips),
                f"{system.score:.6f}",
                show_span(interval.low, interval.high),
                *_chance_cells(system, comparisons),
            ]
            if lead is not None:
                span = show_span(0.0 - lead.high, 0.0 - lead.low)
                row += [f"{0.0 - lead.value:.6f}", span, lead.shown_probability]
            rows.append(row)
    print_table(rows)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """The rows in columns of equal width; the first is the longest."""
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        print("  ".join(cells).rstrip())


def _chance_header(comparisons: Sequence[Comparison]) -> list[str]:
    """The columns of floors and excesses, where any system has them."""
    every = [system.statistics for c in comparisons for system in c.systems]
    floors = ["floor", "p"] if any(found.floor is not None for found in every) else []
    return floors + (["excess", "95 %"] if any(found.excess is not None for found in every) else [])


def _chance_cells(system: System, comparisons: Sequence[Comparison]) -> list[str]:
    from otadtk.statistics.resampling import show_span

    found, header, cells = system.statistics, _chance_header(comparisons), list[str]()
    if "floor" in header:
        floor = found.floor
        cells += ["–", "–"] if floor is None else [f"{floor.mean:.6f}", f"{floor.p_value:.3g}"]
    if "excess" in header:
        excess = found.excess
        cells += (
            ["–", "–"]
            if excess is None
            else [f"{excess.value:.6f}", show_span(excess.low, excess.high)]
        )
    return cells


def print_trend(trend: Trend) -> None:
    """A row for each step, then what the trend says in sentences."""
    from otadtk.statistics.resampling import show_span

    header = ["step", "clips", "score", "95 % (jackknife)", "floor", "bad", "worse by", "95 %", ""]
    rows = [header]
    changes = {change.after.name: change for change in trend.changes}
    for step in trend.steps:
        record, change = step.record, changes.get(step.name)
        floor, share = record.floor, record.share
        row = [
            step.name,
            str(record.clips),
            f"{record.score:.6f}",
            show_span(record.interval.low, record.interval.high),
            "–" if floor is None else f"{floor.mean:.6f}",
            "–" if share is None else str(share.bad),
        ]
        if change is not None:
            found = change.difference
            row += [
                f"{found.value:+.6f}",
                show_span(found.low, found.high, "+.6f"),
                change.word,
            ]
        rows.append(row)
    print_table(rows)
    print(*trend.sentences(), sep="\n")
