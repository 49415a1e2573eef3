"""Figures for a paper: vector graphics, column width, colours for colour-blind readers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.errors import UsageError
from otadtk.files.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.4, 6.9
"""Widths in inches: one column, and the whole page."""
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#777777"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY)
"""The palette of Okabe and Ito. Curves also differ in marker or dash."""
MARKERS = "osD^vPX*"
METRIC_COLOURS = {"fad": ORANGE, "kad": PURPLE, "sinkhorn": BLUE, "exact": BLACK}
METRIC_NAMES = {"fad": "FAD", "kad": "KAD", "sinkhorn": "Sinkhorn", "exact": "Exact OT"}
_STYLE: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "otadtk",
    "pdf.fonttype": 42,
}


@contextmanager
def panels(
    rows: int = 1, columns: int = 1, *, width: float = PAGE, height: float = 2.4, **options: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure and its panels in the common style, which holds inside the ``with`` block."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(
            'Figures need matplotlib: pip install "otadtk-audio[experiments]", or use --no-figures.'
        ) from error
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        axes = figure.subplots(rows, columns, squeeze=False, **options)
        yield figure, list(axes.ravel())


def save(figure: Figure, path: Path) -> None:
    """Write ``path``.svg and ``path``.pdf; the same figure gives the same bytes."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        for kind, metadata in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
            drawn = io.BytesIO()
            figure.savefig(drawn, format=kind, metadata=metadata)
            with replacing(path.with_name(f"{path.name}.{kind}")) as file:
                file.write(drawn.getvalue())
