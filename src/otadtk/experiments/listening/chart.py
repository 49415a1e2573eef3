"""The figure of agreement: a panel for each level, a row for each test, a mark for each metric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from otadtk.experiments.figure import CYCLE, GREY, MARKERS, PAGE, panels

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Estimate = tuple[float, float, float]
"""A value, and the ends of its interval (NaN where there is none)."""
Panel = Mapping[str, Mapping[str, Estimate]]
"""Estimates by test and metric."""

_ROW_INCHES, _PANEL_INCHES = 0.55, 0.4
_SPREAD = 0.8
"""The share of a row over which its marks are spread."""


def draw_agreement(
    levels: Mapping[str, Panel],
    metrics: Sequence[str],
    ceilings: Mapping[tuple[str, str], float],
) -> Figure:
    """All levels below each other on one scale; ``ceilings`` by level and test are grey bars."""
    counts = [len(tests) for tests in levels.values()]
    height = 0.5 + sum(_PANEL_INCHES + _ROW_INCHES * count for count in counts)
    with panels(
        max(1, len(levels)),
        1,
        width=PAGE,
        height=height,
        sharex=True,
        height_ratios=[count + 0.3 for count in counts] or None,
    ) as (figure, axes):
        for place, (level, tests) in zip(axes, levels.items(), strict=False):
            _draw_panel(place, tests, metrics)
            for number, test in enumerate(tests):
                limit = ceilings.get((level, test))
                if limit is not None:
                    place.plot([limit, limit], [number - 0.45, number + 0.45], color=GREY, lw=2.5)
            place.set_title(level, loc="left")
        axes[-1].set_xlabel("agreement with listeners (Spearman’s ρ); grey bar: ceiling")
        handles, labels = _legend(axes)
        if labels:
            figure.legend(handles, labels, loc="outside right upper")
    return figure


def _draw_panel(place: Axes, tests: Panel, metrics: Sequence[str]) -> None:
    for number, estimates in enumerate(tests.values()):
        for index, metric in enumerate(metrics):
            if metric not in estimates:
                continue
            value, low, high = estimates[metric]
            y = number + _SPREAD * ((index + 0.5) / len(metrics) - 0.5)
            colour, marker = CYCLE[index % len(CYCLE)], MARKERS[index % len(MARKERS)]
            filled = colour if index < len(CYCLE) else "none"
            if not math.isnan(low):
                place.plot([low, high], [y, y], color=colour, linewidth=0.8)
            place.plot(
                [value],
                [y],
                color=colour,
                marker=marker,
                markerfacecolor=filled,
                linestyle="none",
                label=metric,
            )
    place.axvline(0.0, color=GREY, linewidth=0.6)
    place.set_yticks(range(len(tests)), list(tests))
    place.set_ylim(len(tests) - 0.5, -0.5)
    place.set_xlim(-1.05, 1.05)


def _legend(axes: Sequence[Axes]) -> tuple[list[Artist], list[str]]:
    """Each metric once."""
    found: dict[str, Artist] = {}
    for place in axes:
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
