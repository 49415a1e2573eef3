"""Evaluates the ground metrics of an encoder on ESC-50: the table of the model cards.

    python benchmarks/adapters.py ESC50_FOLDER [--csv TABLE] [--markdown TABLE]

ESC50_FOLDER holds audio/ and meta/esc50.csv as published. Reference: folds 1-3 (1,200 clips).
Evaluated: folds 4-5 (800 clips), of which 5 % are replaced by a spoilt version; exact transport;
AUROC of c_j. No adapter is trained or selected on these clips. Raw, agnostic, native and artifact
metrics see the same clips, faults and draws.
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from otadtk.adapter.files import adapter_for
from otadtk.distances.exact import exact_transport
from otadtk.embed import LazyEncoder
from otadtk.encoders import get_spec
from otadtk.encoders.signal import with_signal
from otadtk.statistics import auroc
from otadtk.store import EmbeddingStore
from otadtk.training.datasets import LabelledClip
from otadtk.training.evaluation import class_accuracy
from otadtk.training.losses import retained_variance, squared_distance
from otadtk.training.triplets import PROBES, TripletSampler
from otadtk.training.versions import CLEAN, UNSEEN, Version, VersionSet, embed_versions

TESTED = {
    "noise 10 dB": ("noise", 0.5),
    "noise 20 dB": ("noise", 0.0),
    "clicks": ("clicks", 0.5),
    "dropouts": ("dropouts", 0.5),
    "clipping": ("clipping", 0.5),
    "band limit": ("band_limit", 0.5),
    "loop": ("loop", 0.5),
    "shuffle": ("shuffle", 0.5),
    **{f"{kind} (unseen)": (kind, 0.5) for kind in UNSEEN},
}
DRAWS = 5
SPOILT = 40
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
    clips, folds = read_esc50(options.folder)
    versions = embed_all(clips, folds, options.model, options.workers)
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    inner = get_spec(options.model)
    raw = versions.vectors[:, : inner.dim]
    for variant in ("raw", *options.variants):
        loaded = adapter_for(inner, variant)
        points = raw
        if loaded is not None:
            inputs = versions.vectors if loaded.spec.dim != inner.dim else raw
            with torch.inference_mode():
                points = loaded.network(torch.from_numpy(inputs)).numpy()
        table[variant] = evaluate(points, raw, clips, folds, versions)
        print(f"{variant}: done", flush=True)
    table["ceiling"] = ceiling(versions, clips, folds, raw)
    show(table)
    if options.csv is not None:
        write(table, options.csv)


def read_esc50(folder: Path) -> tuple[list[LabelledClip], np.ndarray]:
    with (folder / "meta" / "esc50.csv").open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["filename"])
    clips = [
        LabelledClip(folder / "audio" / row["filename"], row["category"], "ESC-50", row["src_file"])
        for row in rows
    ]
    return clips, np.array([int(row["fold"]) for row in rows])


def drawn(folds: np.ndarray, number: int) -> np.ndarray:
    """The clips of folds 4-5 that are spoilt with one kind: five draws of 40, one after another."""
    members = np.flatnonzero(folds >= 4)
    return np.random.default_rng([50, number]).permutation(members)[: DRAWS * SPOILT]


def embed_all(
    clips: Sequence[LabelledClip], folds: np.ndarray, model: str, workers: int | None
) -> VersionSet:
    """Clean clips, the spoilt versions of the draws, and noise and shuffle for the probes."""
    plan = [Version(i, CLEAN, 0.0) for i in range(len(clips))]
    names = [CLEAN] * len(clips)
    for number, (name, (kind, strength)) in enumerate(TESTED.items()):
        chosen = drawn(folds, number)
        plan += [Version(int(i), kind, strength) for i in chosen]
        names += [name] * len(chosen)
    for index in probe_clips(len(clips)):
        rng = np.random.default_rng(zlib.crc32(clips[index].path.name.encode()))
        for kind in ("noise", "shuffle"):
            plan.append(Version(int(index), kind, float(rng.random())))
            names.append(kind)
    spec = with_signal(get_spec(model))
    embedded = embed_versions(clips, plan, LazyEncoder(spec), EmbeddingStore(), workers=workers)
    # embed_versions gives them clip by clip: name each row by the order of the plan within a clip
    by_clip: dict[int, list[str]] = {}
    for version, name in zip(plan, names, strict=True):
        by_clip.setdefault(version.clip, []).append(name)
    kinds = [name for index in range(len(clips)) for name in by_clip[index]]
    assert len(kinds) == len(embedded.vectors)
    return VersionSet(embedded.vectors, embedded.clip, np.array(kinds))


def probe_clips(count: int) -> np.ndarray:
    return np.sort(np.random.default_rng(51).permutation(count)[:PROBE_CLIPS])


Figure = tuple[float, float, float]


def interval(values: np.ndarray) -> Figure:
    """Mean and a 95 % bootstrap interval."""
    rng = np.random.default_rng(52)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def evaluate(
    points: np.ndarray,
    raw: np.ndarray,
    clips: Sequence[LabelledClip],
    folds: np.ndarray,
    versions: VersionSet,
) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    clean = versions.rows(CLEAN)
    probes = [triplets_won(points, raw, clips, versions, n) for n in range(len(PROBES))]
    for probe, won in zip(PROBES, probes, strict=True):
        figures[f"triplets {probe}"] = interval(won[0])
    figures["triplets, mean"] = interval(np.mean([won[0] for won in probes], axis=0))
    figures["triplets, mean above raw"] = interval(
        np.mean([won[0] - won[1] for won in probes], axis=0)
    )
    labels = np.array([clip.label for clip in clips])
    reference, members = np.flatnonzero(folds <= 3), np.flatnonzero(folds >= 4)
    accuracy = class_accuracy(
        points[clean[reference]], points[clean[members]], labels[reference], labels[members]
    )
    figures["class 1-NN"] = (accuracy, accuracy, accuracy)
    kept = retained_variance(torch.from_numpy(raw[clean]), torch.from_numpy(points[clean]))
    figures["retained variance"] = (kept, kept, kept)
    found = {}
    for number, name in enumerate(TESTED):
        found[name] = np.array(
            [detect(points, clean, versions, reference, members, folds, number, name, draw)
             for draw in range(DRAWS)]
        )  # fmt: skip
        figures[f"AUROC {name}"] = interval(found[name])
        print(f"  {name}: {found[name].mean():.3f}", flush=True)
    seen = np.mean([v for name, v in found.items() if "unseen" not in name], axis=0)
    unseen = np.mean([v for name, v in found.items() if "unseen" in name], axis=0)
    figures["AUROC, mean of eight kinds"] = interval(seen)
    figures["AUROC, mean of unseen kinds"] = interval(unseen)
    return figures


def triplets_won(
    points: np.ndarray,
    raw: np.ndarray,
    clips: Sequence[LabelledClip],
    versions: VersionSet,
    number: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Which triplets of a probe a metric wins, and which the raw embedding wins."""
    plain = VersionSet(raw, versions.clip, versions.kind)
    sampler = TripletSampler(clips, plain, np.ones(len(clips), dtype=bool))
    drawn_ = sampler.draw(PROBES[number], TRIPLETS, np.random.default_rng([53, number]))
    won = []
    for space in (points, raw):
        a, p, n = (
            torch.from_numpy(space[rows])
            for rows in (drawn_.anchor, drawn_.positive, drawn_.negative)
        )
        won.append((squared_distance(a, p) < squared_distance(a, n)).double().numpy())
    return won[0], won[1]


def detect(
    points: np.ndarray,
    clean: np.ndarray,
    versions: VersionSet,
    reference: np.ndarray,
    members: np.ndarray,
    folds: np.ndarray,
    number: int,
    name: str,
    draw: int,
) -> float:
    spoilt = drawn(folds, number)[draw * SPOILT : (draw + 1) * SPOILT]
    kept = np.setdiff1d(members, spoilt)
    y = np.concatenate([points[clean[kept]], points[versions.rows(name)[spoilt]]])
    costs = exact_transport(points[clean[reference]], y).column_costs
    return auroc(np.arange(len(y)) >= len(kept), costs)


def ceiling(
    versions: VersionSet, clips: Sequence[LabelledClip], folds: np.ndarray, raw: np.ndarray
) -> dict[str, Figure]:
    """Logistic regression on the raw embedding, supervised per kind on ESC-50 itself, 5-fold."""
    clean = versions.rows(CLEAN)
    members = np.flatnonzero(folds >= 4)
    figures = {}
    means = []
    for number, name in enumerate(TESTED):
        spoilt = drawn(folds, number)
        x = np.concatenate([raw[clean[members]], raw[versions.rows(name)[spoilt]]])
        y = np.arange(len(x)) >= len(members)
        part = np.concatenate([members, spoilt]) % 5  # both versions of a clip on one side
        scores = np.zeros(len(x))
        for fold in range(5):
            scores[part == fold] = logistic(x[part != fold], y[part != fold], x[part == fold])
        value = auroc(y, scores)
        figures[f"AUROC {name}"] = (value, value, value)
        if "unseen" not in name:
            means.append(value)
    mean = float(np.mean(means))
    return {**figures, "AUROC, mean of eight kinds": (mean, mean, mean)}


def logistic(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    torch.manual_seed(0)
    layer = torch.nn.Linear(x.shape[1], 1)
    inputs, target = 30.0 * torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))
    optimiser = torch.optim.LBFGS(layer.parameters(), max_iter=100)
    balance = torch.tensor(float((~y).sum() / y.sum()))

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            layer(inputs)[:, 0], target, pos_weight=balance
        )
        loss = loss + 1e-3 * layer.weight.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    with torch.no_grad():
        return layer(30.0 * torch.from_numpy(new))[:, 0].numpy()


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
