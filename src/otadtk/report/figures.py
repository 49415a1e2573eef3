"""Static figures of a report for papers: histogram, map, strip of costs, ROC, convergence."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from otadtk.errors import UsageError
from otadtk.files.atomic import replacing
from otadtk.report.clips.table import project
from otadtk.report.content import ReportContent

Axes = Any
"""Of matplotlib, whose types differ between versions."""

FORMATS = ("svg", "png")
BLUE, RUST, _GREEN, _INK = "#1d5a9e", "#a93c17", "#4f6d5d", "#1d1b19"
STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a857e",
    "axes.labelcolor": _INK,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "otadtk",  # the same figure gives the same file
}


def require_matplotlib() -> None:
    """A UsageError that says what to install if matplotlib is missing."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UsageError('Figures need matplotlib: pip install "otadtk-audio[report]".')


def write_figures(content: ReportContent, folder: Path) -> list[Path]:
    """Write every figure that the content has data for, as SVG and PNG; gives the files."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    drawings: dict[str, tuple[Callable[[ReportContent, Axes], None], tuple[float, float]]] = {
        "histogram": (_histogram, (4.2, 2.4)),
        "map": (_map, (4.2, 3.6)),
        "strip": (_strip, (4.2, 2.2)),
    }
    if content.detection is not None:
        drawings["roc"] = (_roc, (2.8, 2.8))
    if content.options.limit is not None:
        drawings["convergence"] = (_convergence, (3.4, 2.4))
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with matplotlib.rc_context(STYLE):
        for name, (draw, size) in drawings.items():
            figure = Figure(figsize=size)
            draw(content, figure.subplots())
            for suffix in FORMATS:
                picture = io.BytesIO()
                facts = {"Date": None} if suffix == "svg" else {}
                figure.savefig(picture, format=suffix, metadata=facts)
                path = folder / f"{name}.{suffix}"
                with replacing(path) as file:
                    file.write(picture.getvalue())
                written.append(path)
    return written


def _histogram(content: ReportContent, axes: Axes) -> None:
    relative = content.table.relative
    positive = relative[relative > 0]
    if len(positive) == 0:
        axes.text(0.5, 0.5, "every cost is 0", ha="center", transform=axes.transAxes)
        return
    edges = np.geomspace(positive.min() * 0.98, positive.max() * 1.02, 41)
    bad = np.array([label != "" for label in content.labels], dtype=bool)
    if len(bad) == 0:
        axes.hist(positive, edges, color=BLUE, label="evaluated clips")
        median = float(np.median(relative))
    else:
        parts = [relative[~bad], relative[bad]]
        drawn = axes.hist(
            parts, edges, stacked=True, color=[BLUE, RUST], label=["clean", "known bad"]
        )
        for bar in drawn[2][1]:
            bar.set_hatch("////")
        median = float(np.median(parts[0]))
    named = "median" if len(bad) == 0 else "clean median"
    axes.axvline(median, color=_INK, linestyle="--", linewidth=0.8, label=named)
    axes.set_xscale("log")
    _plain_ticks(axes.xaxis, float(positive.min()), float(positive.max()))
    axes.set_xlabel(f"cost over the {content.table.typical}")
    axes.set_ylabel("clips")
    axes.legend()


def _plain_ticks(axis: Any, low: float, high: float) -> None:
    """Ticks such as 0.5, 1 and 2 on a log axis too short for powers of ten."""
    if high > 1000 * low:
        return
    steps = [step * 10.0**k for k in range(-6, 7) for step in (1, 2, 5)]
    ticks = [tick for tick in steps if low <= tick <= high]
    axis.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def _map(content: ReportContent, axes: Axes) -> None:
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    (x, y), explained = project(content.table)
    split = len(content.table.reference.names)
    axes.scatter(
        x[:split],
        y[:split],
        s=7,
        facecolors="none",
        edgecolors=_GREEN,
        linewidths=0.5,
        label="reference",
    )
    order = content.table.order[::-1]  # largest cost on top
    most = max(float(content.table.relative.max()), 1.0)
    heat = np.log(np.maximum(content.table.relative[order], 1.0)) / max(np.log(most), 1e-12)
    dots = axes.scatter(
        x[split:][order],
        y[split:][order],
        s=4 + 30 * heat,
        c=most**heat,
        cmap=LinearSegmentedColormap.from_list("cost", ["#7fa3cc", RUST]),
        norm=LogNorm(1.0, max(most, 1.01)),
        linewidths=0,
        alpha=0.85,
        label="evaluated",
    )
    assert axes.figure is not None
    bar = axes.figure.colorbar(dots, label=f"cost over the {content.table.typical}", shrink=0.8)
    _plain_ticks(bar.ax.yaxis, 1.0, max(most, 1.01))
    axes.set_xlabel(f"first axis ({explained[0]:.0%} of the variance)")
    axes.set_ylabel(f"second axis ({explained[1]:.0%})")
    axes.set_aspect("equal")
    axes.legend(loc="best")


def _strip(content: ReportContent, axes: Axes) -> None:
    """Costs by rank; known bad clips are marked."""
    table = content.table
    ranks = np.arange(1, len(table.order) + 1)
    costs = table.relative[table.order]
    axes.plot(ranks, costs, color=BLUE, linewidth=1.2)
    if content.labels:
        bad = np.array([content.labels[j] != "" for j in table.order])
        axes.plot(ranks[bad], costs[bad], "x", color=RUST, markersize=4, label="known bad")
        axes.legend()
    axes.axhline(1.0, color=_INK, linestyle="--", linewidth=0.8)
    if costs.min() > 0:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, float(costs.min()), float(costs.max()))
    axes.set_xlabel("rank")
    axes.set_ylabel(f"cost over the {table.typical}")


def _roc(content: ReportContent, axes: Axes) -> None:
    assert content.detection is not None
    false, true = zip(*content.detection.roc, strict=True)
    axes.plot([0, 1], [0, 1], color="#8a857e", linestyle="--", linewidth=0.8)
    axes.plot(false, true, color=RUST, label=f"AUROC {content.detection.auroc:.3f}")
    axes.set_xlabel("clean clips flagged")
    axes.set_ylabel("bad clips found")
    axes.set_aspect("equal")
    axes.legend(loc="lower right")


def _convergence(content: ReportContent, axes: Axes) -> None:
    """Scores of subsets against 1/N, and the fitted line to the limit at 1/N = 0."""
    limit = content.options.limit
    assert limit is not None
    inverse = 1.0 / np.asarray(limit.sizes)
    axes.plot(inverse, limit.scores, "o", color=BLUE, markersize=3, label="subsets")
    ends = np.array([0.0, inverse.max()])
    axes.plot(ends, limit.value + limit.slope * ends, color=RUST, linewidth=1)
    axes.plot(0.0, limit.value, "D", color=RUST, markersize=4, label=f"limit {limit.value:.4f}")
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("1/N")
    axes.set_ylabel("OTAD")
    axes.legend()
