"""Figures of the rank-1 experiment: the log-ratio curve, the bars of R1/FR, and Theorem 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from otadtk.experiments.figure import BLACK, BLUE, CYCLE, GREY, MARKERS, ORANGE, PAGE, panels
from otadtk.experiments.paper import RANK_ONE
from otadtk.experiments.rank_one.tables import FOCUS, MINUS, PLUS, advantage, response
from otadtk.experiments.rank_one.theorem import PART
from otadtk.experiments.rows import Row, column, distinct, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """The figures by name."""
    data = select(rows, part="data")
    with panels(1, 2, width=PAGE, height=2.6, width_ratios=[2, 3]) as (figure, (left, right)):
        _curve(left, data)
        _bars(right, data)
    figures = {"sensitivity": figure}
    theorem = select(rows, part=PART, family="spiked")
    if theorem:
        with panels(1, 2, width=PAGE, height=2.5) as (figure, (left, right)):
            _theorem(left, theorem, "rate", "contamination ε", "effective_rank", "r")
            _theorem(right, theorem, "effective_rank", "effective rank r", "rate", "ε")
        figures["theorem"] = figure
    return figures


def _curve(axes: Axes, rows: Sequence[Row]) -> None:
    axes.axvspan(0.0, FOCUS, color="#eeeeee", zorder=0)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    for number, model in enumerate(distinct(rows, "model")):
        for condition, dash in ((PLUS, "-"), (MINUS, "--")):
            rates = distinct(rows, "rate")
            logs = [np.log10(advantage(rows, model, condition, rate)) for rate in rates]
            x = np.array([float(rate) for rate in rates])
            middle = np.array([values.mean() for values in logs])
            low = np.array([values.min() for values in logs])
            high = np.array([values.max() for values in logs])
            colour = CYCLE[number % len(CYCLE)]
            sign = "+" if condition == PLUS else "−"
            axes.plot(
                x,
                middle,
                dash,
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                label=f"{model}, {sign}v₁",
            )
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("contamination ε")
    axes.set_ylabel("log₁₀ (Sinkhorn / FAD), rank 1")
    axes.set_xlim(left=0.0)
    axes.set_title("(a)", loc="left")
    axes.legend()


def _bars(axes: Axes, rows: Sequence[Row]) -> None:
    names, fad, sinkhorn = [], [], []
    for model in distinct(rows, "model"):
        for condition, sign in ((PLUS, "+"), (MINUS, "−")):
            names.append(f"{model} {sign}")
            fad.append(100 * response(rows, model, "fad", condition, FOCUS).mean())
            sinkhorn.append(100 * response(rows, model, "sinkhorn", condition, FOCUS).mean())
    ours = len(names)
    for encoder, (_, first, _, second, _) in RANK_ONE.items():
        names.append(encoder)
        fad.append(first)
        sinkhorn.append(second)
    x = np.arange(len(names))
    axes.bar(x - 0.2, fad, 0.4, color=ORANGE, label="FAD", hatch="//", edgecolor="white")
    axes.bar(x + 0.2, sinkhorn, 0.4, color=BLUE, label="Sinkhorn")
    axes.axvline(ours - 0.5, color=BLACK, linewidth=0.8, linestyle=":")
    axes.text(ours - 0.6, 0.98, "ours", ha="right", va="top", transform=axes.get_xaxis_transform())
    axes.text(ours - 0.4, 0.98, "paper", ha="left", va="top", transform=axes.get_xaxis_transform())
    axes.set_yscale("log")
    axes.set_xticks(x, names, rotation=45, ha="right")
    axes.set_ylabel("R1/FR at ε = 0.05 (%)")
    axes.set_title("(b)", loc="left")
    axes.set_ylim(0.5 * min(sinkhorn + fad), 2.5 * max(sinkhorn + fad))
    axes.legend(loc="upper right")


def _theorem(axes: Axes, rows: Sequence[Row], along: str, label: str, by: str, symbol: str) -> None:
    chosen = distinct(rows, by)
    chosen = chosen[:: max(1, (len(chosen) - 1) // 3)]
    for number, value in enumerate(chosen):
        own = select(rows, **{by: value})
        x = [float(v) for v in distinct(own, along)]
        parts = [select(own, **{along: v}) for v in distinct(own, along)]
        ratio = [column(p, "fad").mean() / column(p, "w2_twins").mean() for p in parts]
        bound = [column(p, "fad_bound").mean() / column(p, "w2_bound").mean() for p in parts]
        colour = CYCLE[number]
        axes.plot(x, ratio, color=colour, marker=MARKERS[number], label=f"{symbol} = {value}")
        axes.plot(x, bound, color=colour, linestyle=":", linewidth=1.0)
    axes.plot([], [], color=GREY, linestyle=":", label="Corollary 1")
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [float(value) for value in distinct(rows, along)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(label)
    axes.set_ylabel("FAD / W₂²")
    axes.set_ylim(top=5e3)
    axes.legend(ncols=2)
