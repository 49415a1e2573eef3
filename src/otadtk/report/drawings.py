"""Draws the figures of a report on matplotlib axes: histogram, map, costs by rank and along time, ROC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
from otadtk.report.clips.details import ClipDetails
from otadtk.report.clips.table import Costs, project
from otadtk.report.detection import Detection

Axes = Any
"""Of matplotlib, whose types differ between versions."""
Points = NDArray[np.float32]

BLUE, RUST, GREEN, INK, GREY = "#1d5a9e", "#a93c17", "#4f6d5d", "#1d1b19", "#8a857e"
STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
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


def draw_histogram(axes: Axes, relative: Costs, typical: str, bad: NDArray[np.bool_]) -> None:
    """The costs over the typical one; ``bad`` marks known bad clips, and is empty without any."""
    positive = relative[relative > 0]
    if len(positive) == 0:
        axes.text(0.5, 0.5, "every cost is 0", ha="center", transform=axes.transAxes)
        return
    edges = np.geomspace(positive.min() * 0.98, positive.max() * 1.02, 41)
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
    axes.axvline(median, color=INK, linestyle="--", linewidth=0.8, label=named)
    axes.set_xscale("log")
    _plain_ticks(axes.xaxis, float(positive.min()), float(positive.max()))
    axes.set_xlabel(f"cost over the {typical}")
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


def draw_map(
    axes: Axes, reference: Points, evaluated: Points, relative: Costs, typical: str
) -> None:
    """Both sets on the first two principal axes of their union, in the space of the metric."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    (x, y), explained = project(reference, evaluated)
    split = len(reference)
    axes.scatter(
        x[:split],
        y[:split],
        s=7,
        facecolors="none",
        edgecolors=GREEN,
        linewidths=0.5,
        label="reference",
    )
    order = np.argsort(relative, kind="stable")  # largest cost on top
    most = max(float(relative.max()), 1.0)
    heat = np.log(np.maximum(relative[order], 1.0)) / max(np.log(most), 1e-12)
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
    bar = axes.figure.colorbar(dots, ax=axes, label=f"cost over the {typical}", shrink=0.8)
    _plain_ticks(bar.ax.yaxis, 1.0, max(most, 1.01))
    axes.set_xlabel(f"first axis ({explained[0]:.0%} of the variance)")
    axes.set_ylabel(f"second axis ({explained[1]:.0%})")
    axes.set_aspect("equal")
    axes.legend(loc="best")


def draw_ranks(axes: Axes, relative: Costs, typical: str, labels: Sequence[str]) -> None:
    """Costs by rank; known bad clips are marked."""
    order = np.argsort(-relative, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    costs = relative[order]
    axes.plot(ranks, costs, color=BLUE, linewidth=1.2)
    if labels:
        bad = np.array([labels[j] != "" for j in order])
        axes.plot(ranks[bad], costs[bad], "x", color=RUST, markersize=4, label="known bad")
        axes.legend()
    axes.axhline(1.0, color=INK, linestyle="--", linewidth=0.8)
    if costs.min() > 0:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, float(costs.min()), float(costs.max()))
    axes.set_xlabel("rank")
    axes.set_ylabel(f"cost over the {typical}")


def draw_along_time(axes: Axes, clip: ClipDetails, scale: float, typical: str) -> None:
    """The cost of a clip along time, over its spectrogram; silent frames have none.

    ``scale`` is the typical cost of a clip.
    """
    costs = np.array([np.nan if cost is None else cost for cost in clip.strip]) / scale
    seconds, most = clip.sketch.seconds, max(1.0, float(np.nanmax(costs, initial=1.0))) * 1.08
    axes.imshow(
        clip.sketch.mel,
        origin="lower",
        aspect="auto",
        cmap="Greys",
        alpha=0.55,
        extent=(0.0, seconds, 0.0, most),
    )
    edges = np.minimum(np.arange(len(costs) + 1) * clip.step, seconds)
    axes.stairs(costs, edges, color=RUST, linewidth=1.8, baseline=None, label="cost")
    axes.axhline(1.0, color=INK, linestyle="--", linewidth=0.8, label=f"{typical} clip")
    axes.set_xlim(0.0, seconds)
    axes.set_ylim(0.0, most)
    axes.set_xlabel("seconds")
    axes.set_ylabel(f"cost over the {typical}")
    axes.legend(loc="center right", frameon=True, framealpha=0.85, edgecolor="none")


def draw_roc(axes: Axes, found: Detection, label: str = "") -> None:
    """The costs as a detector of the known bad clips; a further curve has another colour."""
    false, true = zip(*found.roc, strict=True)
    curves = len(axes.get_legend_handles_labels()[1])
    if curves == 0:
        axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=0.8)
    named = f"{label}: AUROC {found.auroc:.3f}" if label else f"AUROC {found.auroc:.3f}"
    axes.plot(false, true, color=(RUST, BLUE, GREEN, INK)[curves % 4], label=named)
    axes.set_xlabel("clean clips flagged")
    axes.set_ylabel("bad clips found")
    axes.set_aspect("equal")
    axes.legend(loc="lower right", frameon=True, framealpha=0.85, edgecolor="none")
