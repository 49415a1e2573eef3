"""Plants ten faults in 200 clips of ESC-50 and prints how well the default command finds them.

    python benchmarks/planted.py ESC50_FOLDER [--variant NAME] [--seeds 3]

ESC50_FOLDER holds audio/ and meta/esc50.csv as published. Reference: 200 clips of folds 1 to 4, four of
each class; evaluated: 200 clips of fold 5, four of each class, of which ten have a fault, each of another
kind. The AUROC is that of the costs c_j; the second number counts the faults among the worst ten.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import soundfile

from otadtk.audio.perturb import perturb
from otadtk.cli.score import main as score
from otadtk.statistics.ranking import auroc

KINDS = (
    "clicks", "dropouts", "clipping", "noise", "band_limit", "loop", "shuffle", "hum", "crush", "holes",
)  # fmt: skip
PER_CLASS = 4
WORST = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("esc50", type=Path)
    parser.add_argument("--variant", help="default: that of the command")
    parser.add_argument("--seeds", type=int, default=3, help="how many choices of clips")
    options = parser.parse_args()
    extra = ["--variant", options.variant] if options.variant else []
    found = []
    for seed in range(options.seeds):
        with tempfile.TemporaryDirectory() as place:
            planted = make_folders(options.esc50, Path(place), seed)
            found.append(detect(Path(place), planted, extra))
        print(
            f"seed {seed}: AUROC {found[-1][0]:.3f}, {found[-1][1]} of the worst {WORST}",
            flush=True,
        )
    areas, hits = np.mean(found, axis=0)
    print(f"mean: AUROC {areas:.3f}, {hits:.1f} of the worst {WORST}")


def make_folders(esc50: Path, out: Path, seed: int) -> set[str]:
    """Writes reference/ and evaluated/; the names of the clips with a fault."""
    with (esc50 / "meta" / "esc50.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rng = np.random.default_rng(seed)
    chosen = {}
    for side, folds in (("reference", "1234"), ("evaluated", "5")):
        (out / side).mkdir()
        clips = []
        for label in sorted({row["category"] for row in rows}):
            own = [r["filename"] for r in rows if r["category"] == label and r["fold"] in folds]
            clips += rng.permutation(own)[:PER_CLASS].tolist()
        chosen[side] = clips
        for name in clips:
            (out / side / name).symlink_to((esc50 / "audio" / name).resolve())
    faulty = rng.permutation(chosen["evaluated"])[: len(KINDS)].tolist()
    for number, (name, kind) in enumerate(zip(faulty, KINDS, strict=True)):
        samples, rate = soundfile.read(esc50 / "audio" / name, dtype="float32")
        spoilt = perturb(kind, samples, rate, np.random.default_rng([seed, number]), 1.0)
        (out / "evaluated" / name).unlink()
        soundfile.write(out / "evaluated" / name, spoilt, rate, subtype="PCM_16")
    return set(faulty)


def detect(folder: Path, planted: set[str], extra: list[str]) -> tuple[float, int]:
    """(AUROC of the costs, faults among the worst) of the command."""
    sides = [str(folder / side) for side in ("reference", "evaluated")]
    costs = folder / "cj.csv"
    command = ["yamnet", *sides, "--diag-out", str(costs), "-q", "--no-null", *extra]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = score(command)
    if code != 0:
        raise SystemExit(f"the command ended with exit code {code}")
    with costs.open(newline="") as file:
        cost_of = {Path(row["file"]).name: float(row["cj"]) for row in csv.DictReader(file)}
    names = sorted(cost_of, key=lambda name: -cost_of[name])
    area = auroc([name in planted for name in names], [cost_of[name] for name in names])
    return area, sum(name in planted for name in names[:WORST])


if __name__ == "__main__":
    main()
