"""Tables of the rank-1 experiment: ratios, agreement under full rank, KAD's noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otadtk.experiments.figure import METRIC_NAMES
from otadtk.experiments.paper import RANK_ONE
from otadtk.experiments.rank_one.theorem import PART, theorem_tables
from otadtk.experiments.rows import Row, Value, column, distinct, select
from otadtk.experiments.table import Table, percent

FULL, PLUS, MINUS = "full-rank", "rank-1 (+)", "rank-1 (−)"
BASELINE, FOCUS = 0.2, 0.05
"""The rate of the full-rank response that normalises the others, and the rate in the table."""
_TRANSPORT = ("fad", "sinkhorn", "exact")


def response(
    rows: Sequence[Row], model: Value, metric: str, condition: str, rate: Value
) -> NDArray[np.float64]:
    """A metric's values by seed, each divided by the same seed's full-rank value at 20 %."""
    own = select(rows, model=model, metric=metric, condition=condition, rate=rate)
    base = select(rows, model=model, metric=metric, condition=FULL, rate=BASELINE)
    return column(own, "value") / column(base, "value")


def advantage(
    rows: Sequence[Row], model: Value, condition: str, rate: Value
) -> NDArray[np.float64]:
    """Sinkhorn's self-normalised response over FAD's, by seed."""
    sinkhorn = response(rows, model, "sinkhorn", condition, rate)
    return np.asarray(sinkhorn / response(rows, model, "fad", condition, rate))


def tables(rows: Sequence[Row]) -> list[Table]:
    """All tables of the experiment."""
    data = select(rows, part="data")
    return [
        _ratios(data),
        _sweep(data),
        _agreement(data),
        _kernel(data),
        *theorem_tables(select(rows, part=PART)),
    ]


def _ratios(rows: Sequence[Row]) -> Table:
    cells = []
    for model in distinct(rows, "model"):
        for condition in (PLUS, MINUS):
            at = {"model": model, "condition": condition, "rate": FOCUS}
            value = {m: column(select(rows, metric=m, **at), "value") for m in METRIC_NAMES}
            gain = advantage(rows, model, condition, FOCUS)
            first = select(rows, model=model)[0]
            cells.append(
                [
                    f"{model}, {condition}",
                    str(first["dimension"]),
                    f"{float(first['effective_rank']):.1f}",
                    percent(response(rows, model, "fad", condition, FOCUS).mean(), 2),
                    percent((value["fad"] / value["exact"]).mean()),
                    percent(response(rows, model, "sinkhorn", condition, FOCUS).mean(), 2),
                    percent((value["sinkhorn"] / value["exact"]).mean()),
                    f"{gain.mean():.2f} ({gain.min():.2f}–{gain.max():.2f})",
                ]
            )
    for encoder, (dimension, *shares) in RANK_ONE.items():
        fad, fad_exact, sinkhorn, sinkhorn_exact = shares
        cells.append(
            [
                f"{encoder} (paper)", str(dimension), "",
                f"{fad}%", f"{fad_exact}%", f"{sinkhorn}%", f"{sinkhorn_exact}%",
                f"{sinkhorn / fad:.1f}",
            ]
        )  # fmt: skip
    return Table(
        "Response to rank-1 contamination at ε = 0.05, divided by the metric's full-rank response "
        "at ε = 0.20 (R1/FR), and against exact transport; the last column is Sinkhorn's R1/FR over "
        "FAD's: mean (range) over seeds",
        ["encoder", "d", "r_eff", "FAD R1/FR", "FAD/EOT", "Sink R1/FR", "Sink/EOT", "Sink:FAD"],
        cells,
    )


def _sweep(rows: Sequence[Row]) -> Table:
    cells = []
    for model in distinct(rows, "model"):
        for condition in (PLUS, MINUS):
            for rate in distinct(rows, "rate"):
                means = (response(rows, model, m, condition, rate).mean() for m in METRIC_NAMES)
                gain = advantage(rows, model, condition, rate).mean()
                shares = (percent(mean, 2) for mean in means)
                cells.append([f"{model}, {condition}, ε = {rate}", *shares, f"{gain:.2f}"])
    return Table(
        "Rank-1 contamination at every rate, self-normalised (each metric divided by its full-rank "
        "value at ε = 0.20), and Sinkhorn’s response over FAD’s",
        ["encoder, direction, rate", *METRIC_NAMES.values(), "Sink:FAD"],
        cells,
    )


def _agreement(rows: Sequence[Row]) -> Table:
    cells = []
    for model in distinct(rows, "model"):
        for rate in distinct(rows, "rate"):
            means = {m: response(rows, model, m, FULL, rate).mean() for m in METRIC_NAMES}
            apart = max(abs(means[m] / means["exact"] - 1.0) for m in _TRANSPORT)
            shares = (percent(means[m], 2) for m in METRIC_NAMES)
            cells.append([f"{model}, ε = {rate}", *shares, percent(apart, 2)])
    return Table(
        "Full-rank contamination, self-normalised (each metric divided by its value at ε = 0.20); "
        "the last column is the largest relative difference of FAD or Sinkhorn from exact transport",
        ["encoder, rate", *METRIC_NAMES.values(), "difference"],
        cells,
    )


def _kernel(rows: Sequence[Row]) -> Table:
    cells = []
    for model in distinct(rows, "model"):
        for condition in (PLUS, MINUS):
            for rate in distinct(rows, "rate"):
                if float(rate) > FOCUS:
                    continue
                own = select(rows, model=model, metric="kad", condition=condition, rate=rate)
                noise = column(own, "null_deviation").mean()
                cells.append(
                    [
                        f"{model}, {condition}, ε = {rate}",
                        f"{column(own, 'value').mean():.4f}",
                        f"{noise:.4f}",
                        f"{column(own, 'value').mean() / noise:.1f}",
                        f"{column(own, 'p_value').max():.3f}",
                    ]
                )
    return Table(
        "KAD under rank-1 contamination against its noise: the deviation over random splits of "
        "the pooled clips, and the largest p-value over seeds",
        ["encoder, direction, rate", "KAD", "null deviation", "KAD/deviation", "p"],
        cells,
    )
