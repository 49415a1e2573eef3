"""Measures the level and the power of otadtk-gate on ESC-50, with the default variant of YAMNet.

    python benchmarks/gate.py ESC50 measure --runs 0:25 --rows rows.csv    in pieces, each appended
    python benchmarks/gate.py ESC50 table --rows rows.csv                  the table, in Markdown

--points FILE.npz keeps the clips in the space of the variant from one piece to the next.

A run draws, without replacement from the 2,000 clips, a reference, a baseline and a new set, --clips
each. An unchanged model gives another draw of clean clips; a worse one the same with 10 % of them
replaced by clips with a fault of strength 0.5. The gate is that of the command: it fails if the
interval of the rise is above 0, by a jackknife, or if more clips are far from the reference. The table
also says how often each of the two failed.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from verdicts import KINDS, STRENGTH, load

from otadtk.adapter import default_variant
from otadtk.distances.subsets import transport_between
from otadtk.distances.transport.couplings import TransportSettings
from otadtk.engine import LocalEngine
from otadtk.metrics.verdicts import squares_between
from otadtk.statistics.farther import reference_distances
from otadtk.statistics.resampling import jackknife_interval
from otadtk.tracking.gate import LEVEL, Scored, rise_of
from otadtk.training.spoil import CLEAN

ENGINE = LocalEngine(1)
SHARE = 0.1
Array = np.ndarray
FIELDS = ("kind", "run", "clips", "rise", "by_score", "by_clips", "fails")


@dataclass(frozen=True)
class Clips:
    """The clips in the space of the variant, and the rows of each version of them."""

    points: Array
    clean: Array
    spoilt: Array
    """The clips that have spoilt versions."""
    faults: dict[str, Array]

    @classmethod
    def of(cls, esc50: Path, file: Path | None) -> Clips:
        """From the file if it is there; else embedded, and kept in it."""
        if file is None or not file.exists():
            variant = default_variant("yamnet")
            bank = load(esc50, [variant])[variant]
            versions = bank.space.versions
            found = cls(
                bank.space.points,
                versions.rows(CLEAN),
                bank.spoilt,
                {kind: versions.rows(kind, STRENGTH) for kind in KINDS},
            )
            if file is None:
                return found
            named = {"points": found.points, "clean": found.clean, "spoilt": found.spoilt}
            np.savez(file, **named, **found.faults)
        with np.load(file) as kept:
            faults = {kind: kept[kind] for kind in KINDS}
            return cls(kept["points"], kept["clean"], kept["spoilt"], faults)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("esc50", type=Path)
    parser.add_argument("part", choices=["measure", "table"])
    parser.add_argument("--runs", default="0:100", help="first and last run, as 0:100")
    parser.add_argument("--clips", type=int, default=500, help="of each set")
    parser.add_argument("--kinds", default=f"unchanged,{','.join(KINDS)}")
    parser.add_argument("--points", type=Path, help="where the clips are kept")
    parser.add_argument("--rows", type=Path, required=True, help="CSV of all runs")
    options = parser.parse_args()
    if options.part == "table":
        print_table(options.rows)
        return
    bank = Clips.of(options.esc50, options.points)
    first, last = (int(text) for text in options.runs.split(":"))
    new = not options.rows.exists()
    with options.rows.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        for run in range(first, last):
            for row in measure(bank, run, options.clips, options.kinds.split(",")):
                writer.writerow(row)
                file.flush()


def measure(bank: Clips, run: int, clips: int, kinds: list[str]) -> list[dict[str, object]]:
    """A row for each kind, all with the same reference and baseline."""
    rng = np.random.default_rng([20, run])
    clean = bank.clean
    count = round(SHARE * clips)
    bad = rng.permutation(bank.spoilt)[:count]  # in none of the clean sets
    order = rng.permutation(np.setdiff1d(np.arange(len(clean)), bad))
    reference, baseline, redrawn = (clean[order[k * clips : (k + 1) * clips]] for k in range(3))
    points = bank.points
    before = score(points, reference, baseline, run)
    rows = []
    for kind in kinds:
        faults = clean[:0] if kind == "unchanged" else bank.faults[kind][bad]
        chosen = np.concatenate([faults, redrawn[len(faults) :]])
        after = score(points, reference, rng.permutation(chosen), run)
        rise = rise_of("OTAD", after, before)
        found = (rise.score_rose, rise.clips_farther, rise.beyond_noise)
        values = (kind, run, clips, rise.difference.value, *map(int, found))
        rows.append(dict(zip(FIELDS, values, strict=True)))
    return rows


def score(points: Array, reference: Array, evaluated: Array, seed: int) -> Scored:
    """The interval of the score, and the distances of the clips from the reference."""
    pool = points[np.concatenate([reference, evaluated])]
    distance = transport_between(pool, TransportSettings())
    n, m = len(reference), len(evaluated)
    interval = jackknife_interval(distance, n, m, seed=seed, engine=ENGINE)
    squares = squares_between(pool.astype(np.float64))
    return Scored(interval, reference_distances(squares, n, m))


def print_table(path: Path) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_kind: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_kind[row["kind"]].append(row)
    print(f"{rows[0]['clips']} clips in each set; a level of {100 * LEVEL:g} %\n")
    print("| new set | runs | rise, mean | the gate fails | by the score | by the clips |")
    print("|---|---|---|---|---|---|")
    for kind, several in by_kind.items():
        rise = np.mean([float(row["rise"]) for row in several])
        found = (sum(row[name] == "1" for row in several) for name in ("fails", *FIELDS[4:6]))
        shares = " | ".join(f"{count} of {len(several)}" for count in found)
        what = kind if kind == "unchanged" else f"10 % with {kind}"
        print(f"| {what} | {len(several)} | {rise:.4f} | {shares} |")


if __name__ == "__main__":
    main()
