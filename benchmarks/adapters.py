"""Evaluates the ground metrics of an encoder on ESC-50, for the tables of the model cards.

    python benchmarks/adapters.py ESC50_FOLDER [--csv TABLE] [--markdown TABLE]

ESC50_FOLDER holds audio/ and meta/esc50.csv as published. Reference: folds 1-3 (1,200 clips).
Evaluated: folds 4-5 (800 clips), of which 5 % are replaced by a degraded version; exact transport;
AUROC of c_j. No adapter is trained or selected on these clips. All variants get the same clips,
faults and draws.
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from otadtk.embed.store import EmbeddingStore
from otadtk.experiments.data import Dataset, Embedded, Points, Space, clean_plan, read_clips
from otadtk.experiments.per_sample.disjoint import DRAWS, FAULTS, ceiling, detect, plan
from otadtk.training.datasets import LabelledClip
from otadtk.training.evaluation import class_accuracy
from otadtk.training.losses import retained_variance, squared_distance
from otadtk.training.triplets import PROBES, TripletSampler
from otadtk.training.versions import Version

PROBE_CLIPS = 400
TRIPLETS = 2000
RESAMPLES = 1000


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="yamnet")
    parser.add_argument("--variants", nargs="+", default=["agnostic", "native", "artifact"])
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    dataset = read_clips(options.folder)
    embedded = Embedded(dataset, options.model, EmbeddingStore(), options.workers)
    table: dict[str, dict[str, Figure]] = {}
    for variant in ("raw", *options.variants):
        table[variant] = evaluate(embedded, variant)
        print(f"{variant}: done", flush=True)
    raw = embedded.space(plan(dataset.folds), "raw")
    found = {f"AUROC {name}": ceiling(raw, dataset.folds, name) for name in FAULTS}
    found["AUROC, mean of eight kinds"] = float(
        np.mean([value for name, value in found.items() if "unseen" not in name])
    )
    table["ceiling"] = {name: (value, value, value) for name, value in found.items()}
    show(table)
    if options.csv is not None:
        write(table, options.csv)


def probe_plan(dataset: Dataset) -> tuple[Version, ...]:
    """All clips clean, and some noisy and shuffled, for the probes."""
    degraded = []
    for index in probe_clips(len(dataset.clips)):
        rng = np.random.default_rng(zlib.crc32(dataset.clips[index].path.name.encode()))
        for kind in ("noise", "shuffle"):
            degraded.append(Version(int(index), kind, float(rng.random())))
    return (*clean_plan(len(dataset.clips)), *degraded)


def probe_clips(count: int) -> np.ndarray:
    return np.sort(np.random.default_rng(51).permutation(count)[:PROBE_CLIPS])


Figure = tuple[float, float, float]


def interval(values: np.ndarray) -> Figure:
    """The mean and its 95 % bootstrap interval."""
    rng = np.random.default_rng(52)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def evaluate(embedded: Embedded, variant: str) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    dataset = embedded.dataset
    probes, raw_probes = (
        embedded.space(probe_plan(dataset), metric) for metric in (variant, "raw")
    )
    won = [triplets_won(probes, raw_probes, dataset.clips, n) for n in range(len(PROBES))]
    for probe, (own, _) in zip(PROBES, won, strict=True):
        figures[f"triplets {probe}"] = interval(own)
    figures["triplets, mean"] = interval(np.mean([own for own, _ in won], axis=0))
    figures["triplets, mean above raw"] = interval(np.mean([o - r for o, r in won], axis=0))
    space, clean = embedded.space(plan(dataset.folds), variant), probes.clean()
    reference, members = np.flatnonzero(dataset.folds <= 3), np.flatnonzero(dataset.folds >= 4)
    labels = dataset.labels
    accuracy = class_accuracy(clean[reference], clean[members], labels[reference], labels[members])
    figures["class 1-NN"] = (accuracy, accuracy, accuracy)
    kept = retained_variance(torch.from_numpy(raw_probes.clean()), torch.from_numpy(clean))
    figures["retained variance"] = (kept, kept, kept)
    found = {}
    for name in FAULTS:
        found[name] = np.array([detect(space, dataset.folds, name, d) for d in range(DRAWS)])
        figures[f"AUROC {name}"] = interval(found[name])
        print(f"  {name}: {found[name].mean():.3f}", flush=True)
    seen = np.mean([v for name, v in found.items() if "unseen" not in name], axis=0)
    unseen = np.mean([v for name, v in found.items() if "unseen" in name], axis=0)
    figures["AUROC, mean of eight kinds"] = interval(seen)
    figures["AUROC, mean of unseen kinds"] = interval(unseen)
    return figures


def triplets_won(
    space: Space, raw: Space, clips: Sequence[LabelledClip], number: int
) -> tuple[np.ndarray, np.ndarray]:
    """The triplets of a probe that a metric wins, and those that the raw embedding wins."""
    sampler = TripletSampler(clips, raw.versions, np.ones(len(clips), dtype=bool))
    drawn = sampler.draw(PROBES[number], TRIPLETS, np.random.default_rng([53, number]))

    def wins(points: Points) -> np.ndarray:
        a, p, n = (
            torch.from_numpy(points[rows])
            for rows in (drawn.anchor, drawn.positive, drawn.negative)
        )
        return (squared_distance(a, p) < squared_distance(a, n)).double().numpy()

    return wins(space.points), wins(raw.points)


def show(table: dict[str, dict[str, Figure]]) -> None:
    rows = list(table["raw"])
    print("| ESC-50 | " + " | ".join(table) + " |")
    print("|---|" + "---|" * len(table))
    for row in rows:
        cells = []
        for figures in table.values():
            if row not in figures:
                cells.append("–")
                continue
            mean, low, high = figures[row]
            cells.append(f"{mean:.3f}" + (f" ({low:.3f}–{high:.3f})" if high > low else ""))
        print(f"| {row} | " + " | ".join(cells) + " |")


def write(table: dict[str, dict[str, Figure]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["metric", "figure", "mean", "low", "high"])
        for variant, figures in table.items():
            for row, values in figures.items():
                writer.writerow([variant, row, *(f"{value:.5f}" for value in values)])


if __name__ == "__main__":
    main()
