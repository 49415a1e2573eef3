"""Our KAD against kadtk, our OTAD against otadtk 0.1.2, on the same embeddings (B.3)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from otadtk.adapter.published import COMPAT
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.errors import UsageError
from otadtk.experiments.data import Points
from otadtk.experiments.figure import BLUE, COLUMN, GREEN, ORANGE, panels
from otadtk.experiments.rows import Row, column, distinct, select
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_QUESTIONS = {
    "KAD": "KAD, kadtk 1.1",
    "OTAD, compat": f"OTAD, {COMPAT}, in compat mode",
    "OTAD": f"OTAD, {COMPAT}, our own solver",
}


@dataclass(frozen=True)
class EquivalenceConfig:
    """Random embeddings: two shifted Gaussian sets, of norm 1 and of norm 10."""

    dimensions: tuple[int, ...] = (128, 512, 2048)
    norms: tuple[float, ...] = (1.0, 10.0)
    clips: int = 300
    seeds: int = 3


QUICK = EquivalenceConfig(dimensions=(32,), norms=(1.0,), clips=40, seeds=1)


def case(dimension: int, norm: float, clips: int, seed: int) -> tuple[Points, Points]:
    """Two sets of random embeddings of one norm; the second is shifted and smaller."""
    rng = np.random.default_rng([9, dimension, seed])
    x = rng.standard_normal((clips, dimension))
    y = rng.standard_normal((clips - clips // 5, dimension)) + rng.standard_normal(dimension) / 2
    scaled = (norm * side / np.linalg.norm(side, axis=1, keepdims=True) for side in (x, y))
    first, second = (side.astype(np.float32) for side in scaled)
    return first, second


def find_peers(folder: Path | None) -> tuple[Path, Path]:
    """The folders of the two packages below ``folder``."""
    wanted = {"kadtk 1.1": "kadtk/kad.py", "otadtk 0.1.2": "otadtk/otad.py"}
    if folder is None:
        raise UsageError(
            "equivalence needs --peers DIR with kadtk 1.1 and otadtk 0.1.2 unpacked in it "
            "(pip install --no-deps --target DIR/NAME PACKAGE==VERSION for each)."
        )
    found = []
    for name, file in wanted.items():
        places = sorted([*folder.glob(file), *folder.glob(f"*/{file}")])
        if not places:
            raise UsageError(f"{folder} has no {name}: neither {file} nor */{file} is there.")
        found.append(places[0].parent.parent)
    return found[0], found[1]


def tasks(config: EquivalenceConfig, source: Source) -> list[Task]:
    """One task for every dimension and norm."""
    places = find_peers(source.request.peers)
    return [
        _task(config, places, dimension, norm)
        for dimension in config.dimensions
        for norm in config.norms
    ]


def _task(
    config: EquivalenceConfig, places: tuple[Path, Path], dimension: int, norm: float
) -> Task:
    def compute() -> list[Row]:
        cases = {seed: case(dimension, norm, config.clips, seed) for seed in range(config.seeds)}
        theirs = _ask(places, cases)
        return [row for seed in cases for row in _compare(dimension, norm, seed, cases, theirs)]

    return Task(f"{dimension} {norm}", compute)


def _compare(
    dimension: int,
    norm: float,
    seed: int,
    cases: dict[int, tuple[Points, Points]],
    theirs: dict[str, dict[str, object]],
) -> list[Row]:
    x, y = cases[seed]
    peer = theirs[str(seed)]
    compat = sinkhorn_divergence(x, y, epsilon=DEFAULT_EPSILON, compat=COMPAT)
    own = sinkhorn_divergence(x, y, epsilon=DEFAULT_EPSILON)
    head: Row = {"dimension": dimension, "norm": norm, "seed": seed}
    rows = []
    for question, value, published in (
        ("KAD", kernel_distance(x, y).value, peer["kad"]),
        ("OTAD, compat", compat.value, peer["otad"]),
        ("OTAD", own.value, peer["otad"]),
    ):
        assert isinstance(published, float)
        row = head | {"question": question, "ours": value, "theirs": published}
        row["relative_difference"] = abs(value - published) / max(abs(published), 1e-30)
        if question != "KAD":
            costs = np.asarray(peer["cj"], dtype=np.float64)
            ours = (compat if question == "OTAD, compat" else own).cj
            row["cost_difference"] = float(np.abs(ours - costs).max() / costs.max())
        rows.append(row)
    return rows


def _ask(
    places: tuple[Path, Path], cases: dict[int, tuple[Points, Points]]
) -> dict[str, dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.npz"
        sides = {f"{seed} {side}": p for seed, pair in cases.items() for side, p in zip("xy", pair)}  # noqa: B905
        np.savez(file, **sides)  # type: ignore[arg-type]
        script = Path(__file__).with_name("peers.py")
        command = [sys.executable, str(script), *map(str, places), str(file), str(DEFAULT_EPSILON)]
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        reason = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UsageError(f"The packages in {places[0].parent} do not run here: {reason}")
    answers: dict[str, dict[str, object]] = json.loads(run.stdout)
    return answers


def tables(rows: Sequence[Row]) -> list[Table]:
    """The largest differences over seeds."""
    cells = []
    for question, title in _QUESTIONS.items():
        for dimension in distinct(rows, "dimension"):
            for norm in distinct(rows, "norm"):
                own = select(rows, question=question, dimension=dimension, norm=norm)
                costs = column(own, "cost_difference")
                cells.append(
                    [
                        f"{title}, d = {dimension}, norm {norm}",
                        f"{column(own, 'ours')[0]:.5g}",
                        f"{column(own, 'theirs')[0]:.5g}",
                        f"{column(own, 'relative_difference').max():.1e}",
                        f"{costs.max():.1e}" if len(costs) else "",
                    ]
                )
    cells.append(["KAD, kadtk, d = 128 and 512 (paper)", "", "", "0", ""])
    cells.append(["KAD, kadtk, d = 2048 (paper)", "", "", "7e-05", ""])
    return [
        Table(
            "Our values and the published packages’ on shared random embeddings: the first seed’s "
            "values, the largest relative difference over seeds, and the largest difference of a c_j "
            "relative to the largest c_j",
            ["metric, peer, embeddings", "ours", "theirs", "difference", "c_j difference"],
            cells,
        )
    ]


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """Relative differences by dimension."""
    with panels(width=COLUMN, height=2.7) as (figure, (axes,)):
        dimensions = [int(d) for d in distinct(rows, "dimension")]
        looks = zip(_QUESTIONS, (BLUE, GREEN, ORANGE), "osD", strict=True)
        for question, colour, marker in looks:
            for norm, filled in zip(distinct(rows, "norm"), (colour, "none"), strict=False):
                worst = [
                    column(
                        select(rows, question=question, dimension=d, norm=norm),
                        "relative_difference",
                    ).max()
                    for d in dimensions
                ]
                axes.plot(
                    dimensions,
                    np.maximum(worst, 1e-9),
                    marker,
                    color=colour,
                    markerfacecolor=filled,
                    label=f"{question}, norm {norm}",
                )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(dimensions, [str(d) for d in dimensions])
        axes.minorticks_off()
        axes.set_xlabel("dimension")
        axes.set_ylabel("largest relative difference")
        figure.legend(loc="outside upper center", ncols=2)
    return {"differences": figure}


EXPERIMENT = Experiment(
    "equivalence", EquivalenceConfig(), QUICK, tasks, tables, draw, needs_data=False
)
