"""Measures which share of spoilt clips a score notices: FAD, KAD and OTAD on ESC-50.

    python benchmarks/power.py ESC50 [--csv docs/evidence/power.csv] [--only FAD KAD] [--runs 20]

Reference and evaluated clips are 200 each, drawn without replacement, so that no clip has a twin. A
share of the evaluated clips has a fault of ``otadtk.audio.perturb`` at strength 0.5, of six kinds in
turn. A score notices it if its permutation test (99 permutations) gives p ≤ 0.05. The raw vectors are
those that the features of the default variant begin with. The rows of a metric and share replace
those in the CSV, so that they may be measured one by one.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from verdicts import ENGINE, KINDS, STRENGTH, Array, Bank, load

from otadtk.adapter import default_variant
from otadtk.distances.subsets import (
    SubsetDistance,
    frechet_between,
    kernel_between,
    transport_between,
)
from otadtk.distances.transport.couplings import TransportSettings
from otadtk.encoders import get_spec
from otadtk.statistics.resampling import permutation_floor
from otadtk.training.spoil import CLEAN

CLIPS = 200
SHARES = (0.0, 0.025, 0.05, 0.1, 0.2, 0.4)
PERMUTATIONS = 99
LEVEL = 0.05
COLUMNS = ("metric", "variant", "share", "noticed", "runs", "clips")


def transported(pool: Array) -> SubsetDistance:
    return transport_between(pool, TransportSettings())


DEFAULT = default_variant("yamnet")
METRICS: dict[str, tuple[str, Callable[[Array], SubsetDistance]]] = {
    "FAD": ("raw", frechet_between),
    "KAD": ("raw", kernel_between),
    "OTAD": ("raw", transported),
    "OTAD artifact": ("artifact", transported),
    "OTAD default": (DEFAULT, transported),
}


def draw(bank: Bank, points: Array, share: float, run: int) -> Array:
    """The points of a reference and of evaluated clips, of which a share is spoilt."""
    rng = np.random.default_rng([6, run])
    count = round(share * CLIPS)
    bad = rng.permutation(bank.spoilt)[:count]
    clean = bank.space.versions.rows(CLEAN)
    others = rng.permutation(np.setdiff1d(np.arange(len(clean)), bad))
    kinds = [bank.space.versions.rows(kind, STRENGTH) for kind in KINDS]
    faults = [kinds[k % len(kinds)][clip] for k, clip in enumerate(bad)]
    kept = clean[others[: 2 * CLIPS - count]]
    return np.asarray(points[np.concatenate([kept, np.array(faults, dtype=int)])])


def notices(distance: SubsetDistance, run: int) -> bool:
    """Whether the permutation test rejects that both halves of the pool are of one source."""
    floor = permutation_floor(
        distance, CLIPS, CLIPS, replicates=PERMUTATIONS, enough=6, seed=run, engine=ENGINE
    )
    return floor.p_value <= LEVEL


def measured_again(row: dict[str, str], options: argparse.Namespace) -> bool:
    return row["metric"] in options.only and float(row["share"]) in options.shares


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write the rows in the order of the metrics and the shares."""
    names = list(METRICS)
    rows.sort(key=lambda row: (names.index(str(row["metric"])), float(str(row["share"]))))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="ESC-50 as published")
    parser.add_argument("--csv", type=Path, default=Path("docs/evidence/power.csv"))
    parser.add_argument("--only", nargs="+", choices=METRICS, default=list(METRICS))
    parser.add_argument("--shares", type=float, nargs="+", default=list(SHARES))
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    if options.csv.exists():
        with options.csv.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if not measured_again(row, options)]
    needed = {METRICS[name][0] for name in options.only}
    banks = load(options.folder, sorted({DEFAULT if name == "raw" else name for name in needed}))
    for name in options.only:
        variant, between = METRICS[name]
        bank = banks[DEFAULT if variant == "raw" else variant]
        raw = bank.space.versions.vectors[:, : get_spec("yamnet").dim]
        points = raw if variant == "raw" else bank.space.points
        for share in options.shares:
            pools = (draw(bank, points, share, run) for run in range(options.runs))
            seen = [notices(between(pool), run) for run, pool in enumerate(pools)]
            values = (name, variant, share, sum(seen) / len(seen), options.runs, CLIPS)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
            print(f"{name}, {variant}: {share:.1%} spoilt: {sum(seen)} of {len(seen)}", flush=True)
            write(options.csv, rows)


if __name__ == "__main__":
    main()
