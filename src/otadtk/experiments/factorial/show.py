"""The factor decomposition of Eqs. (8) to (10), its tables and its figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from otadtk.experiments.figure import BLUE, GREEN, ORANGE, PAGE, panels
from otadtk.experiments.paper import FACTORS, NATIVE_RECALL
from otadtk.experiments.rows import Row, Value, column, distinct_pairs, select
from otadtk.experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = ("recall", "semantic", "precision", "structural")
FACTOR_NAMES = ("cost", "measure", "synergy")
NORMALISATIONS = {"cell": "per cell, as the paper", "family": "over all axes of a family"}
_TIE = 5e-4


@dataclass(frozen=True)
class Factors:
    """The three factors of one axis, and the relative change of each metric by the adapter."""

    cost: float
    measure: float
    synergy: float
    fad_change: float
    sinkhorn_change: float

    @property
    def values(self) -> tuple[float, float, float]:
        """Cost, measure, synergy."""
        return self.cost, self.measure, self.synergy

    @property
    def dominant(self) -> str:
        """The factor of largest magnitude; "none" if all are about 0."""
        sizes = [abs(value) for value in self.values]
        return FACTOR_NAMES[int(np.argmax(sizes))] if max(sizes) > _TIE else "none"


def decompose(a: float, b: float, c: float, d: float, fad_max: float, sink_max: float) -> Factors:
    """Eqs. (8) to (10) of log(1+x)/log(1+x_max): A, C are FAD raw and adapted, B, D Sinkhorn."""
    a_, c_ = np.log1p([a, c]) / np.log1p(fad_max)
    b_, d_ = np.log1p([b, d]) / np.log1p(sink_max)
    return Factors(
        cost=float((c_ + d_) / 2 - (a_ + b_) / 2),
        measure=float((b_ + d_) / 2 - (a_ + c_) / 2),
        synergy=float(d_ - c_ - b_ + a_),
        fad_change=c / a - 1.0,
        sinkhorn_change=d / b - 1.0,
    )


def grid(rows: Sequence[Row], model: Value, adapter: str, over: str) -> dict[str, Factors]:
    """The factors on every axis from means over draws, normalised per cell or over all axes."""

    def mean(variant: str, axis: str, metric: str) -> float:
        # rounding can make the divergence of nearly equal sets slightly negative
        own = select(rows, model=model, variant=variant, axis=axis)
        return max(0.0, float(column(own, metric).mean()))

    largest = {
        metric: {axis: max(mean(v, axis, metric) for v in ("raw", adapter)) for axis in AXES}
        for metric in ("fad", "sinkhorn")
    }
    found = {}
    for axis in AXES:
        tops = [
            largest[m][axis] if over == "cell" else max(largest[m].values())
            for m in ("fad", "sinkhorn")
        ]
        cells = [mean(v, axis, m) for v in ("raw", adapter) for m in ("fad", "sinkhorn")]
        found[axis] = decompose(*cells, *tops)
    return found


def _pairs(rows: Sequence[Row]) -> list[tuple[Value, str]]:
    """The measured pairs of model and adapter."""
    pairs = distinct_pairs(rows, "model", "variant")
    return [(model, str(variant)) for model, variant in pairs if variant != "raw"]


def tables(rows: Sequence[Row]) -> list[Table]:
    """The four conditions, the grid under both normalisations, and the summaries."""
    grids = [_grid(rows, over) for over in NORMALISATIONS]
    return [_conditions(rows), *grids, _summary(rows), _native(rows)]


def _conditions(rows: Sequence[Row]) -> Table:
    cells = []
    for model, variant in distinct_pairs(rows, "model", "variant"):
        own = select(rows, model=model, variant=variant)
        values = [
            f"{column(select(own, axis=axis), metric).mean():.4g}"
            for axis in AXES
            for metric in ("fad", "sinkhorn")
        ]
        cells.append([f"{model}, {variant}", *values])
    heads = [f"{axis}: {name}" for axis in AXES for name in ("FAD", "Sink")]
    return Table(
        "The conditions A to D: FAD and Sinkhorn with the raw and the adapted cost, means over "
        "draws (an encoder without an adapter has only A and B)",
        ["encoder, cost", *heads],
        cells,
    )


def _grid(rows: Sequence[Row], over: str) -> Table:
    cells = []
    for model, adapter in _pairs(rows):
        for axis, factors in grid(rows, model, adapter, over).items():
            shown = [f"{value:+.3f}" for value in factors.values]
            if factors.dominant in FACTOR_NAMES:
                place = FACTOR_NAMES.index(factors.dominant)
                shown[place] = f"**{shown[place]}**"
            changes = (f"{100 * c:+.0f}" for c in (factors.fad_change, factors.sinkhorn_change))
            cells.append([f"{model}, {adapter}, {axis}", *shown, *changes, factors.dominant])
    return Table(
        f"Factor decomposition, log-normalised {NORMALISATIONS[over]}",
        ["encoder, adapter, axis", "Δ cost", "Δ meas", "Δ syn", "FAD%", "Sink%", "dominant"],
        cells,
    )


def _summary(rows: Sequence[Row]) -> Table:
    cells = []
    for model, adapter in _pairs(rows):
        for over, words in NORMALISATIONS.items():
            found = list(grid(rows, model, adapter, over).values())
            cell = [f"{model}, {adapter}, {words}"]
            for place in range(3):
                sizes = [abs(factors.values[place]) for factors in found]
                cell.append(f"{min(sizes):.2f}–{max(sizes):.2f}")
            (dominant, count), *_ = Counter(f.dominant for f in found).most_common()
            cells.append([*cell, f"{dominant} ({count}/{len(found)})"])
    cells += [[f"{encoder}, agnostic (paper)", *shown] for encoder, shown in FACTORS.items()]
    return Table(
        "Summary: ranges of the magnitudes over the four axes, and the factor that dominates most "
        "often",
        ["encoder, adapter, normalisation", "|Δ cost|", "|Δ meas|", "|Δ syn|", "dominant (axes)"],
        cells,
    )


def _native(rows: Sequence[Row]) -> Table:
    cells = []
    for model, adapter in _pairs(rows):
        factors = grid(rows, model, adapter, "cell")["recall"]
        shown = [f"{value:+.2f}" for value in factors.values]
        shown += [f"{100 * c:+.0f}" for c in (factors.fad_change, factors.sinkhorn_change)]
        cells.append([f"{model}, {adapter}", *shown])
    for encoder, (cost, measure, synergy, fad, sink) in NATIVE_RECALL.items():
        shown = [f"{value:+.2f}" for value in (cost, measure, synergy)]
        cells.append([f"{encoder}, native (paper)", *shown, f"{fad:+d}", f"{sink:+d}"])
    return Table(
        "The recall axis with the agnostic and the native adapter (B.2), normalised per cell",
        ["encoder, adapter", "Δ cost", "Δ meas", "Δ syn", "FAD%", "Sink%"],
        cells,
    )


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """Mean magnitudes of the factors by encoder and adapter, under both normalisations."""
    pairs = _pairs(rows)
    with panels(1, 2, width=PAGE, height=2.4, sharey=True) as (figure, axes):
        for place, (over, words) in zip(axes, NORMALISATIONS.items(), strict=True):
            for number, (name, colour, hatch) in enumerate(
                zip(FACTOR_NAMES, (BLUE, ORANGE, GREEN), ("", "//", ".."), strict=True)
            ):
                sizes = [
                    np.mean([abs(f.values[number]) for f in grid(rows, m, a, over).values()])
                    for m, a in pairs
                ]
                x = np.arange(len(pairs)) + 0.26 * (number - 1)
                place.bar(x, sizes, 0.24, color=colour, hatch=hatch, edgecolor="white", label=name)
            place.set_xticks(range(len(pairs)), [f"{m}\n{a}" for m, a in pairs])
            place.set_title(words, loc="left")
        axes[0].set_ylabel("mean |Δ| over four axes")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return {"factors": figure}
