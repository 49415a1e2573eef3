"""Detection of bad clips by the transport costs c_j, with twins in the reference and without (5.4).

A twin is the same clip in the reference set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from otadtk.experiments.data import Plan, Points, clean_plan
from otadtk.experiments.per_sample.disjoint import (
    COSTS,
    DRAWS,
    FAULTS,
    Sides,
    ceiling,
    mixture,
    plan,
)
from otadtk.experiments.per_sample.show import CONTAMINATIONS, QUANTILES, draw, tables
from otadtk.experiments.rows import Row
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.statistics.ranking import auroc
from otadtk.training.versions import Version

if TYPE_CHECKING:
    from otadtk.experiments.data import Embedded

_AUDIBLE = {"Gaussian": ("noise", 1.0), "silence": ("silence", 0.0)}
"""White noise at 0 dB, and digital silence."""
_NOTHING = 1e-6
"""A clean median below this share of the bad clips' cost is rounding error, and no unit."""


@dataclass(frozen=True)
class PerSampleConfig:
    """The share of bad clips, and the number of draws."""

    share: float = 0.05
    draws: int = 3
    disjoint_draws: int = DRAWS


QUICK = PerSampleConfig(draws=1, disjoint_draws=1)


def tasks(config: PerSampleConfig, source: Source) -> list[Task]:
    """Every model, variant, kind and draw: with twins, then without."""
    found = []
    for model in source.request.models:
        own = source.embedded(model)
        for variant in own.variants:
            for kind in CONTAMINATIONS:
                for turn in range(config.draws):
                    found.append(_with_twins(config, own, variant, kind, turn))
        for name in FAULTS:
            found.append(_ceiling(config, own, name))
            for variant in own.variants:
                for turn in range(config.disjoint_draws):
                    found.append(_disjoint(config, own, variant, name, turn))
    return found


def _order(config: PerSampleConfig, total: int, turn: int) -> tuple[NDArray[np.int64], int]:
    """A random order of the clips, and how many at its start are bad (at its end, held out)."""
    return np.random.default_rng([5, turn]).permutation(total), max(1, round(config.share * total))


def _twin_plan(config: PerSampleConfig, total: int) -> Plan:
    degraded = []
    for turn in range(config.draws):
        order, count = _order(config, total, turn)
        degraded += [
            Version(int(index), kind, strength)
            for index in order[:count]
            for kind, strength in _AUDIBLE.values()
        ]
    return (*clean_plan(total), *dict.fromkeys(degraded))


def _with_twins(config: PerSampleConfig, own: Embedded, variant: str, kind: str, turn: int) -> Task:
    def compute() -> list[Row]:
        labels = own.dataset.labels
        space = own.space(_twin_plan(config, len(labels)), variant)
        order, count = _order(config, len(labels), turn)
        bad, clean = order[:count], space.clean()
        reference = np.arange(len(labels))
        if kind in _AUDIBLE:
            replaced = space.degraded(bad, *_AUDIBLE[kind])
        else:
            donors = order[-count:] if kind == "cross-class, outside" else order[count:]
            replaced = clean[other_class(labels, bad, donors, turn)]
            if kind == "cross-class, outside":  # the donors must not be in the reference
                reference = np.setdiff1d(reference, donors)
        evaluated = clean.copy()
        evaluated[bad] = replaced
        mask = np.isin(reference, bad)
        head: Row = {"part": "twins", "model": own.model, "variant": variant}
        head |= {"contamination": kind, "seed": turn}
        return [
            head
            | {"cost": cost}
            | _summary(mask, COSTS[cost](clean[reference], evaluated[reference]))
            for cost in ("c_j, Sinkhorn", "c_j, exact")
        ]

    return Task(f"twins {own.model} {variant} {kind} {turn}", compute)


def other_class(
    labels: NDArray[np.str_], bad: NDArray[np.int64], donors: NDArray[np.int64], seed: int
) -> NDArray[np.int64]:
    """For each bad clip a donor of another class; donors repeat only when all are used."""
    left = np.random.default_rng([6, seed]).permutation(donors).tolist()
    chosen = []
    for index in bad:
        able = [donor for donor in left if labels[donor] != labels[index]]
        if able:
            left.remove(able[0])
        else:
            able = [donor for donor in donors if labels[donor] != labels[index]]
        chosen.append(able[0])
    return np.array(chosen, dtype=np.int64)


def _summary(mask: NDArray[np.bool_], costs: Points | NDArray[np.float64]) -> Row:
    """AUROC, separation ratio, and cost quantiles of clean and bad clips over the clean median."""
    clean, bad = costs[~mask], costs[mask]
    middle = float(np.median(clean))
    row: Row = {
        "auroc": auroc(mask, costs),
        "separation": float(bad.mean() / clean.mean()) if clean.mean() > 0 else float("inf"),
    }
    if middle > _NOTHING * float(bad.mean()):
        for name, values in (("clean", clean), ("bad", bad)):
            for quantile in QUANTILES:
                row[f"{name}_{quantile}"] = float(np.quantile(values, quantile / 100) / middle)
    return row


def _disjoint(config: PerSampleConfig, own: Embedded, variant: str, name: str, turn: int) -> Task:
    def compute() -> list[Row]:
        folds = own.dataset.folds
        space = own.space(plan(folds, config.disjoint_draws), variant)
        x, y, degraded = mixture(space, Sides.of(folds), name, turn)
        head: Row = {"part": "disjoint", "model": own.model, "variant": variant}
        head |= {"contamination": name, "seed": turn}
        return [
            head | {"cost": cost, "auroc": auroc(degraded, compute_costs(x, y))}
            for cost, compute_costs in COSTS.items()
        ]

    return Task(f"disjoint {own.model} {variant} {name} {turn}", compute)


def _ceiling(config: PerSampleConfig, own: Embedded, name: str) -> Task:
    def compute() -> list[Row]:
        folds = own.dataset.folds
        row: Row = {"part": "disjoint", "model": own.model, "variant": "raw"}
        row |= {"contamination": name, "seed": 0, "cost": "supervised"}
        space = own.space(plan(folds, config.disjoint_draws), "raw")
        return [row | {"auroc": ceiling(space, folds, name, config.disjoint_draws)}]

    return Task(f"ceiling {own.model} {name}", compute)


EXPERIMENT = Experiment("per-sample", PerSampleConfig(), QUICK, tasks, tables, draw)
