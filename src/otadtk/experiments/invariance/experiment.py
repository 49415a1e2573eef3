"""How far each fault moves a clip, relative to its distance to other clips (Eq. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.perturb import PERTURBATIONS
from otadtk.experiments.data import Plan, Points, clean_plan
from otadtk.experiments.figure import BLACK, CYCLE, MARKERS, PAGE, panels
from otadtk.experiments.rows import Row, column, distinct, distinct_pairs, select
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.experiments.table import Table
from otadtk.training.versions import Version

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from otadtk.experiments.data import Embedded

KINDS = tuple(kind for kind in PERTURBATIONS if kind != "silence")
MIDDLE = 0.5


@dataclass(frozen=True)
class InvarianceConfig:
    """The number of clips, each degraded with every kind of fault at every strength."""

    clips: int = 60
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    seed: int = 60


QUICK = InvarianceConfig(clips=3, strengths=(0.0, 0.5))


def _chosen(config: InvarianceConfig, total: int) -> NDArray[np.int64]:
    return np.random.default_rng(config.seed).permutation(total)[: config.clips]


def _plan(config: InvarianceConfig, total: int) -> Plan:
    degraded = [
        Version(int(index), kind, strength)
        for index in _chosen(config, total)
        for kind in KINDS
        for strength in config.strengths
    ]
    return (*clean_plan(total), *degraded)


def distances_to_others(clean: Points, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The distances ``(chosen, all)`` of the chosen clips to all clips; infinite to itself."""
    own, points = clean[chosen].astype(np.float64), clean.astype(np.float64)
    squares = (own**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2.0 * own @ points.T
    distances = np.sqrt(np.maximum(squares, 0.0))
    distances[np.arange(len(chosen)), chosen] = np.inf
    return np.asarray(distances)


def tasks(config: InvarianceConfig, source: Source) -> list[Task]:
    """One task for every model and ground metric."""
    return [
        _task(config, source.embedded(model), variant)
        for model in source.request.models
        for variant in source.embedded(model).variants
    ]


def _task(config: InvarianceConfig, own: Embedded, variant: str) -> Task:
    def compute() -> list[Row]:
        total = len(own.dataset.clips)
        chosen, space = _chosen(config, total), own.space(_plan(config, total), variant)
        clean = space.clean()
        others = distances_to_others(clean, chosen)
        nearest, typical = others.min(axis=1), np.median(others, axis=1)
        rows: list[Row] = []
        for kind in KINDS:
            for strength in config.strengths:
                moved = space.degraded(chosen, kind, strength).astype(np.float64) - clean[chosen]
                distance = np.linalg.norm(moved, axis=1)
                ratio = distance / typical
                rows.append(
                    {
                        "model": own.model,
                        "variant": variant,
                        "fault": kind,
                        "strength": strength,
                        "median": float(np.median(ratio)),
                        "quantile_90": float(np.quantile(ratio, 0.9)),
                        "largest": float(ratio.max()),
                        "beyond_nearest": float(np.mean(distance > nearest)),
                    }
                )
        return rows

    return Task(f"{own.model} {variant}", compute)


def tables(rows: Sequence[Row]) -> list[Table]:
    """The displacement by every fault at middle strength."""
    groups = distinct_pairs(rows, "model", "variant")
    cells = []
    for kind in distinct(rows, "fault"):
        cell = [str(kind).replace("_", " ")]
        for model, variant in groups:
            (own,) = select(rows, model=model, variant=variant, fault=kind, strength=MIDDLE)
            cell.append(
                f"{float(own['median']):.2f} / {float(own['largest']):.2f} / "
                f"{100 * float(own['beyond_nearest']):.0f}%"
            )
        cells.append(cell)
    return [
        Table(
            "How far a fault of middle strength moves a clip, ‖Φ(x+δ) − Φ(x)‖ in units of the "
            "clip’s median distance to the other clips: median / largest (η) / share of clips that "
            "move farther than the distance to their nearest neighbour",
            ["fault", *(f"{model}, {variant}" for model, variant in groups)],
            cells,
        )
    ]


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """Median displacement against strength, a panel for each fault."""
    kinds = distinct(rows, "fault")
    with panels(3, 4, width=PAGE, height=4.8, sharex=True, sharey=True) as (figure, axes):
        for place, kind in zip(axes, kinds, strict=True):
            for number, (model, variant) in enumerate(distinct_pairs(rows, "model", "variant")):
                own = select(rows, model=model, variant=variant, fault=kind)
                place.plot(
                    column(own, "strength"),
                    column(own, "median"),
                    color=CYCLE[number % len(CYCLE)],
                    marker=MARKERS[number % len(MARKERS)],
                    markersize=3,
                    label=f"{model}, {variant}",
                )
            place.axhline(1.0, color=BLACK, linewidth=0.6, linestyle=":")
            place.set_title(str(kind).replace("_", " "), loc="left")
        figure.supxlabel("strength of the fault", fontsize=8)
        figure.supylabel("displacement / distance to another clip", fontsize=8)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5)
    return {"profile": figure}


EXPERIMENT = Experiment("invariance", InvarianceConfig(), QUICK, tasks, tables, draw)
