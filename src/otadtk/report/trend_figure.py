"""The picture of a training for papers and slides: the score against the step, as PNG or SVG."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path

from otadtk.files.atomic import replacing
from otadtk.report.drawings import BLUE, RUST, STYLE, require_matplotlib
from otadtk.tracking.trend import Trend


def has_matplotlib() -> bool:
    """Whether figures can be drawn."""
    return find_spec("matplotlib") is not None


def write_trend_figure(trend: Trend, path: Path) -> Path:
    """Write the figure in the format of the file's ending; gives its path."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    steps = [step.number for step in trend.steps]
    records = [step.record for step in trend.steps]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.2))
        axes = figure.subplots()
        floors = [(s, r.floor) for s, r in zip(steps, records, strict=True) if r.floor is not None]
        if floors:
            places = [place for place, _ in floors]
            low, high = [f.low for _, f in floors], [f.high for _, f in floors]
            axes.fill_between(places, low, high, color="#d9d5cd", linewidth=0)
            axes.plot(
                places,
                [f.mean for _, f in floors],
                "--",
                color="#6b665f",
                linewidth=1,
                label="floor",
            )
        below = [r.score - r.interval.low if r.interval.holds else 0.0 for r in records]
        above = [r.interval.high - r.score if r.interval.holds else 0.0 for r in records]
        axes.errorbar(
            steps,
            [r.score for r in records],
            yerr=[below, above],
            color=BLUE,
            marker="o",
            markersize=4,
            linewidth=1.2,
            capsize=2.5,
            elinewidth=1,
            label=f"{records[0].metric}, 95 % interval",
        )
        for marker, word in (("^", "worse"), ("v", "better")):
            changed = [c.after for c in trend.changes if c.beyond_noise and c.word == word]
            if changed:
                axes.plot(
                    [step.number for step in changed],
                    [step.record.score for step in changed],
                    marker,
                    color=RUST if word == "worse" else "#4f6d5d",
                    markersize=8,
                    label=f"{word} than the step before, beyond noise",
                )
        axes.set_xlabel("step")
        if all(float(step).is_integer() for step in steps):
            axes.locator_params(axis="x", integer=True)
        axes.set_ylabel(records[0].metric)
        axes.legend(fontsize=8)
        picture = io.BytesIO()
        figure.savefig(picture, format=path.suffix[1:])
    with replacing(path) as file:
        file.write(picture.getvalue())
    return path
