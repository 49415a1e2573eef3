"""Time and memory of the metrics against the number of clips, one thread each (5.6)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.errors import OtadtkError
from otadtk.experiments.data import clean_plan
from otadtk.experiments.figure import MARKERS, METRIC_COLOURS, METRIC_NAMES, PAGE, panels
from otadtk.experiments.measures import METRICS
from otadtk.experiments.rows import Row, column, distinct, distinct_pairs, select
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.experiments.table import Table
from otadtk.training.versions import Version

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from otadtk.experiments.data import Embedded


@dataclass(frozen=True)
class EfficiencyConfig:
    """Clean clips against noisy clips in another order, at several sizes per side."""

    sizes: tuple[int, ...] = (125, 250, 500, 1000, 2000)
    metrics: tuple[str, ...] = METRICS
    repeats: int = 3
    """For up to 500 clips; larger sets are timed once."""
    noise: float = 0.5
    epsilon: float = DEFAULT_EPSILON
    seed: int = 0


QUICK = EfficiencyConfig(sizes=(20,), metrics=("fad", "exact"), repeats=1)
_SEVERAL_UP_TO = 500


def tasks(config: EfficiencyConfig, source: Source) -> list[Task]:
    """Every model, size and metric, each in a separate process."""
    return [
        _task(config, source.embedded(model), size, metric)
        for model in source.request.models
        for size in config.sizes
        if size <= len(source.dataset.clips)
        for metric in config.metrics
    ]


def _task(config: EfficiencyConfig, own: Embedded, size: int, metric: str) -> Task:
    def compute() -> list[Row]:
        total = len(own.dataset.clips)
        noisy = tuple(Version(index, "noise", config.noise) for index in range(total))
        space = own.space((*clean_plan(total), *noisy), "raw")
        rng = np.random.default_rng(config.seed)
        first, second = rng.permutation(total)[:size], rng.permutation(total)[:size]
        sides = space.clean()[first], space.degraded(second, "noise", config.noise)
        repeats = config.repeats if size <= _SEVERAL_UP_TO else 1
        head: Row = {"model": own.model, "dimension": own.spec.dim, "clips": size}
        return [head | {"metric": metric} | _measured(metric, sides, config.epsilon, repeats)]

    return Task(f"{own.model} {size} {metric}", compute)


def _measured(
    metric: str, sides: tuple[np.ndarray, np.ndarray], epsilon: float, repeats: int
) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("x.npy", "y.npy")]
        for file, points in zip(files, sides, strict=True):
            np.save(file, points)
        command = [sys.executable, "-m", "otadtk.experiments.efficiency.stopwatch", metric]
        command += [*map(str, files), str(epsilon), str(repeats)]
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        run = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **one_thread}
        )
    if run.returncode != 0:
        reason = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise OtadtkError(f"{metric} could not be timed: {reason}")
    row: Row = json.loads(run.stdout)
    return row


def tables(rows: Sequence[Row]) -> list[Table]:
    """Seconds and megabytes by size."""
    metrics = [str(metric) for metric in distinct(rows, "metric")]
    cells = []
    for model, size in distinct_pairs(rows, "model", "clips"):
        cell = [f"{model}, N = {size}"]
        for metric in metrics:
            (own,) = select(rows, model=model, clips=size, metric=metric)
            memory = f" / {float(own['megabytes']):.0f}" if "megabytes" in own else ""
            cell.append(f"{float(own['seconds']):.3f}{memory}")
        cells.append(cell)
    return [
        Table(
            "CPU seconds / peak megabytes above the embeddings, on one thread; both vary with the "
            "machine and the run",
            ["encoder, clips a side", *(METRIC_NAMES[metric] for metric in metrics)],
            cells,
        )
    ]


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """Time and memory against N."""
    shown = [("seconds", "CPU time of one thread (s)", 1e-4)]
    if any("megabytes" in row for row in rows):
        shown.append(("megabytes", "peak memory (MB)", 1.0))
    with panels(1, len(shown), width=PAGE, height=2.5) as (figure, axes):
        for place, (name, label, floor) in zip(axes, shown, strict=True):
            for dash, model in zip(("-", "--", ":", "-."), distinct(rows, "model"), strict=False):
                for marker, metric in zip(MARKERS, METRICS, strict=False):
                    own = select(rows, model=model, metric=metric)
                    if not own:
                        continue
                    place.plot(
                        column(own, "clips"),
                        np.maximum(column(own, name), floor),
                        dash,
                        color=METRIC_COLOURS[metric],
                        marker=marker,
                        label=f"{METRIC_NAMES[metric]}, {model}",
                    )
            place.set_xscale("log")
            place.set_yscale("log")
            sizes = [int(size) for size in distinct(rows, "clips")]
            place.set_xticks(sizes, [str(size) for size in sizes])
            place.minorticks_off()
            place.set_xlabel("clips a side")
            place.set_ylabel(label)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper")
    return {"scaling": figure}


EXPERIMENT = Experiment(
    "efficiency",
    EfficiencyConfig(),
    QUICK,
    tasks,
    tables,
    draw,
    alone=True,
    timed=("seconds", "megabytes"),
)
