"""What the metrics of a results table say of ESC-50 when it is spoilt in known ways.

    python benchmarks/reported_esc50.py ESC50_FOLDER

ESC50_FOLDER holds audio/ and meta/esc50.csv as published; embeddings and posteriors are YAMNet's.

- One class dropped: reference folds 1 and 2, evaluated folds 3 and 4, 16 clips of each class a side.
  Every class in turn is left out of the evaluated set: precision, recall, density and coverage (k = 5)
  before, and their mean change.
- Spoilt clips: a fifth of the evaluated clips gets white noise at 0 dB.
- Noise: KL between 100 clips of fold 5, two of each class where there are, and the same clips with white
  noise at 40 to 0 dB. Clips with digital silence are left out: YAMNet's clip vector skips silent patches,
  so any noise there adds patches.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import soundfile

from otadtk.metrics.reported.kl import KL
from otadtk.metrics.reported.prdc import PRDC

NUMBERS = ("precision", "recall", "density", "coverage")
SIGNAL_TO_NOISE = (40, 30, 20, 10, 0)
SPOILT = 5
"""Every fifth clip."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("esc50", type=Path)
    options = parser.parse_args()
    with (options.esc50 / "meta" / "esc50.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as place:
        drop_classes(rows, options.esc50 / "audio", Path(place))
        add_noise(rows, options.esc50 / "audio", Path(place))


def drop_classes(rows: list[dict[str, str]], audio: Path, place: Path) -> None:
    """Print the four numbers whole, without each class in turn, and with spoilt clips."""
    metric = PRDC("yamnet")
    reference, evaluated = (
        link((audio / row["filename"] for row in rows if int(row["fold"]) in folds), place / name)
        for name, folds in (("reference", (1, 2)), ("evaluated", (3, 4)))
    )
    first, second = metric.embed(reference), metric.embed(evaluated)
    category = {row["filename"]: row["category"] for row in rows}
    classes = np.array([category[file.name] for file in second.files])
    whole = metric.measure(first, second).values
    changes = []
    for dropped in sorted(set(classes)):
        left = second.take(np.flatnonzero(classes != dropped).tolist())
        found = metric.measure(first, left).values
        changes.append([found[name] - whole[name] for name in NUMBERS])
    spoilt = place / "spoilt"
    spoilt.mkdir()
    for number, file in enumerate(second.files):
        if number % SPOILT == 0:
            spoil(file, spoilt / file.name, 0.0, number)
        else:
            (spoilt / file.name).symlink_to(file.resolve())
    bad = metric.measure(first, metric.embed(spoilt)).values
    print("| | " + " | ".join(NUMBERS) + " |\n|---|" + 4 * "---|")
    row("all classes", [f"{whole[name]:.3f}" for name in NUMBERS])
    row("one class dropped, mean change", [f"{value:+.4f}" for value in np.mean(changes, axis=0)])
    lower = (np.array(changes) < 0.0).sum(axis=0)
    row("lower for so many of 50 classes", [str(count) for count in lower])
    row(f"every {SPOILT}th clip spoilt", [f"{bad[name]:.3f}" for name in NUMBERS], flush=True)


def add_noise(rows: list[dict[str, str]], audio: Path, place: Path) -> None:
    """Print the KL of clips and their noisy versions."""
    metric = KL("yamnet")
    chosen, counts = [], dict[str, int]()
    for item in rows:
        file = audio / item["filename"]
        if item["fold"] == "5" and counts.setdefault(item["category"], 0) < 2 and sounds(file):
            counts[item["category"]] += 1
            chosen.append(file)
    clean = metric.embed(link(chosen, place / "clean"))
    print(f"\n| signal to noise, dB | KL, {len(chosen)} clips |\n|---|---|")
    row("clean", [f"{metric.measure(clean, clean).score:.3f}"])
    for level in SIGNAL_TO_NOISE:
        folder = place / f"noise{level}"
        folder.mkdir()
        for number, file in enumerate(chosen):
            spoil(file, folder / file.name, float(level), number)
        row(str(level), [f"{metric.measure(clean, metric.embed(folder)).score:.3f}"], flush=True)


def sounds(file: Path) -> bool:
    """Whether a clip has no tenth of a second of zeros."""
    wave, rate = soundfile.read(file, dtype="float32")
    windows = wave[: len(wave) // (rate // 10) * (rate // 10)].reshape(-1, rate // 10)
    return bool(windows.any(axis=1).all())


def spoil(file: Path, target: Path, level: float, seed: int) -> None:
    """The clip with white noise at so many dB below it."""
    wave, rate = soundfile.read(file, dtype="float64")
    noise = np.random.default_rng(seed).standard_normal(len(wave))
    power = max(float(np.mean(wave**2)), 1e-10)
    noisy = wave + noise * np.sqrt(power / 10.0 ** (level / 10.0))
    soundfile.write(target, noisy, rate, subtype="FLOAT")


def link(files: Iterable[Path], folder: Path) -> Path:
    folder.mkdir()
    for file in files:
        (folder / file.name).symlink_to(file.resolve())
    return folder


def row(title: str, cells: list[str], *, flush: bool = False) -> None:
    print(f"| {title} | {' | '.join(cells)} |", flush=flush)


if __name__ == "__main__":
    main()
