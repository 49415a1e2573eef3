"""Tables and figures of the per-sample experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.experiments.figure import BLUE, CYCLE, GREY, MARKERS, PAGE, RED, panels
from otadtk.experiments.paper import PER_SAMPLE
from otadtk.experiments.rows import Row, Value, column, distinct, distinct_pairs, select
from otadtk.experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONTAMINATIONS = ("Gaussian", "cross-class, outside", "cross-class, inside", "silence")
QUANTILES = (5, 25, 50, 75, 95)
_BASELINES = ("nearest", "FAD", "kernel", "supervised")
_LOOKS = ("raw", "agnostic", "native", "artifact", "FAD", "kernel", "supervised", "perceptual")
"""The curves of the figure; the position gives colour and marker."""


def tables(rows: Sequence[Row]) -> list[Table]:
    """With twins for both couplings, then without twins for each model."""
    twins, disjoint = select(rows, part="twins"), select(rows, part="disjoint")
    shown = [_twins(twins, cost) for cost in ("c_j, Sinkhorn", "c_j, exact")]
    return shown + [_disjoint(disjoint, model) for model in distinct(disjoint, "model")]


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "∞"
    return f"{value:.2f}" if value < 1e4 else f"{value:.3g}"


def _twins(rows: Sequence[Row], cost: str) -> Table:
    cells = []
    for model, variant in distinct_pairs(rows, "model", "variant"):
        cell = [f"{model}, {variant}"]
        for kind in CONTAMINATIONS:
            own = select(rows, model=model, variant=variant, contamination=kind, cost=cost)
            cell.append(f"{column(own, 'auroc').mean():.4f}")
            cell.append(_number(float(column(own, "separation").mean())))
        cells.append(cell)
    for encoder, (gauss, gauss_ratio, cross, cross_ratio, mute, mute_ratio) in PER_SAMPLE.items():
        cells.append(
            [
                f"{encoder} (paper)", f"{gauss:.4f}", _number(gauss_ratio), "", "",
                f"{cross:.4f}", _number(cross_ratio), f"{mute:.4f}", _number(mute_ratio),
            ]
        )  # fmt: skip
    coupling = f"Sinkhorn, ε = {DEFAULT_EPSILON}" if "Sinkhorn" in cost else "exact transport"
    heads = [f"{kind}: {what}" for kind in CONTAMINATIONS for what in ("AUROC", "sep.")]
    return Table(
        f"With twins, 5 % of the clips bad, {coupling}: AUROC of c_j and separation ratio (mean bad "
        "over mean clean cost), means over draws. The paper does not say where its cross-class "
        "donors come from",
        ["encoder, metric", *heads],
        cells,
    )


def _means(rows: Sequence[Row], variant: Value, cost: str) -> dict[Value, float]:
    found = {}
    for kind in distinct(rows, "contamination"):
        own = select(rows, variant=variant, cost=cost, contamination=kind)
        found[kind] = float(column(own, "auroc").mean())
    return found


def _columns(rows: Sequence[Row]) -> dict[str, dict[Value, float]]:
    """Mean AUROC by kind of fault, for each column of the table."""
    variants = distinct(rows, "variant")
    shown = {f"{v}, Sinkhorn": _means(rows, v, "c_j, Sinkhorn") for v in variants}
    shown |= {f"{v}, exact": _means(rows, v, "c_j, exact") for v in variants}
    return shown | {name: _means(rows, "raw", name) for name in _BASELINES}


def _disjoint(rows: Sequence[Row], model: Value) -> Table:
    shown = _columns(select(rows, model=model))
    kinds = list(next(iter(shown.values())))
    cells = [[str(kind), *(f"{found[kind]:.3f}" for found in shown.values())] for kind in kinds]
    for title, unseen in (("mean of the eight kinds", False), ("mean of unseen kinds", True)):
        chosen = [kind for kind in kinds if ("unseen" in str(kind)) == unseen]
        means = (np.mean([found[kind] for kind in chosen]) for found in shown.values())
        cells.append([f"**{title}**", *(f"{mean:.3f}" for mean in means)])
    return Table(
        f"Without twins, {model}: AUROC of c_j by ground metric and coupling, of three baselines on "
        "the raw embedding, and of a detector trained on the same fault (a ceiling)",
        ["fault", *shown],
        cells,
    )


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """The distributions of c_j with twins, and the AUROC without."""
    twins = [row for row in select(rows, part="twins", cost="c_j, Sinkhorn") if "bad_50" in row]
    with panels(1, 2, width=PAGE, height=2.8, sharey=True) as (figure, axes):
        for place, kind in zip(axes, ("cross-class, outside", "Gaussian"), strict=True):
            _boxes(place, select(twins, contamination=kind), kind)
        axes[0].set_ylabel("c_j / clean median")
        for side, colour in (("clean", BLUE), ("bad", RED)):
            axes[0].bar([0], [0], color=colour, alpha=0.7, label=side)
        axes[0].set_ylim(top=1.8 * axes[0].get_ylim()[1])  # room for the scores above the boxes
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    figures = {"costs": figure}
    disjoint = select(rows, part="disjoint")
    models = distinct(disjoint, "model")
    with panels(1, len(models), width=PAGE, height=3.3, sharex=True, sharey=True) as drawn:
        for place, model in zip(drawn[1], models, strict=True):
            _dots(place, select(disjoint, model=model), str(model))
        drawn[1][0].invert_yaxis()
        handles = drawn[1][0].get_legend_handles_labels()
        drawn[0].legend(*handles, loc="outside lower center", ncols=7, columnspacing=1.0)
    return figures | {"disjoint": drawn[0]}


def _boxes(axes: Axes, rows: Sequence[Row], kind: str) -> None:
    labels = []
    for number, (model, variant) in enumerate(distinct_pairs(rows, "model", "variant")):
        own = select(rows, model=model, variant=variant)
        for side, colour, shift in (("clean", BLUE, -0.18), ("bad", RED, 0.18)):
            low, left, middle, right, high = (
                column(own, f"{side}_{quantile}").mean() for quantile in QUANTILES
            )
            box = {"whislo": low, "q1": left, "med": middle, "q3": right, "whishi": high}
            axes.bxp(
                [box],
                positions=[number + shift],
                widths=0.3,
                showfliers=False,
                patch_artist=True,
                boxprops={"facecolor": colour, "alpha": 0.7, "linewidth": 0.6},
                medianprops={"color": "black"},
            )
        score = f"{column(own, 'auroc').mean():.3f}"
        axes.text(number, 0.99, score, ha="center", va="top", transform=axes.get_xaxis_transform())
        labels.append(f"{model}\n{variant}")
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    axes.set_title(f"{kind}; AUROC above", loc="left")


def _dots(axes: Axes, rows: Sequence[Row], model: str) -> None:
    shown = {
        name.removesuffix(", exact"): found
        for name, found in _columns(rows).items()
        if name.endswith(", exact") or name in ("FAD", "kernel", "supervised")
    }
    kinds = list(next(iter(shown.values())))
    for name, found in shown.items():
        number = _LOOKS.index(name)
        axes.plot(
            [found[kind] for kind in kinds],
            range(len(kinds)),
            MARKERS[number],
            color=CYCLE[number],
            label=name,
            alpha=0.85,
        )
    axes.axvline(0.5, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(kinds)), [str(kind) for kind in kinds])
    axes.set_xlabel("AUROC of the degraded clips")
    axes.set_title(model, loc="left")
