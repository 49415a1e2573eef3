"""Static figures of a report for papers, written as SVG and PNG."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from otadtk.files.atomic import replacing
from otadtk.report.content import ReportContent
from otadtk.report.drawings import (
    BLUE,
    RUST,
    STYLE,
    Axes,
    draw_histogram,
    draw_map,
    draw_ranks,
    draw_roc,
    require_matplotlib,
)

FORMATS = ("svg", "png")


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
    bad = np.array([label != "" for label in content.labels], dtype=bool)
    draw_histogram(axes, content.table.relative, content.table.typical, bad)


def _map(content: ReportContent, axes: Axes) -> None:
    table = content.table
    points = table.reference.points, table.evaluated.points
    draw_map(axes, *points, table.relative, table.typical)


def _strip(content: ReportContent, axes: Axes) -> None:
    draw_ranks(axes, content.table.relative, content.table.typical, content.labels)


def _roc(content: ReportContent, axes: Axes) -> None:
    assert content.detection is not None
    draw_roc(axes, content.detection)


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
