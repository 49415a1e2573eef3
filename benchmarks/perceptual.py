"""Scores the perceptual metric on ESC-50: faults it knows, families it does not, order, classes.

    python benchmarks/perceptual.py ESC50_FOLDER SOUNDS [--csv TABLE] [--cache-dir DIR]

Reference: folds 1-3 (1,200 clips). Evaluated: folds 4-5 (800 clips), of which 5 % are replaced by a
spoilt version; exact transport; AUROC of c_j. The eight kinds are those of the other model cards.
Families: the kinds of ``otadtk.audio.faults`` in turn, at strength 0.75. "Held out" is the metric
trained again on SOUNDS without any fault of that family. Order: Spearman correlation of strength
and distance from the clean clip within a kind. All metrics see the same clips, faults and draws.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from otadtk.adapter.files import adapter_for, read_adapter
from otadtk.adapter.network import Adapter
from otadtk.audio.faults import FAMILIES, FAULTS, Step
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.encoders.features.measured import network_spec, parts_of
from otadtk.engine import LocalEngine
from otadtk.experiments.data import Points, read_clips
from otadtk.experiments.per_sample.disjoint import FAULTS as EIGHT
from otadtk.experiments.per_sample.disjoint import Sides, exact_costs
from otadtk.statistics.ranking import auroc
from otadtk.training.config import TrainingConfig
from otadtk.training.evaluation import class_accuracy
from otadtk.training.perceptual import PerceptualRecipe
from otadtk.training.spoil import CLEAN
from otadtk.training.train import fit, prepare
from otadtk.training.versions import Version, VersionSet, embed_versions

MODEL = "yamnet+layers+signal+texture+spectrum+fullband"
DRAWS, FAMILY_DRAWS = 5, 3
STRENGTH = 0.75
STRENGTHS = (0.2, 0.4, 0.6, 0.8)
RECONSTRUCTION = {
    "from mel bands or an envelope": ("mel_griffin_lim", "noise_carrier", "pulse_carrier"),
    "phases only": ("griffin_lim", "random_phase", "zero_phase", "phase_gradient"),
}
Figure = tuple[float, float, float]


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sounds", type=Path)
    parser.add_argument("--adapter", type=Path, help="instead of the bundled one")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--cache-dir", type=Path)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--embed-only", action="store_true", help="fill the store, score nothing")
    options = parser.parse_args()
    dataset = read_clips(options.folder)
    plan, families, ordered = plan_versions(dataset.folds)
    versions = embed_versions(
        dataset.clips, plan, LazyEncoder(get_spec(MODEL)), EmbeddingStore(options.cache_dir),
        engine=LocalEngine(options.workers),
    )  # fmt: skip
    if options.embed_only:
        return
    table: dict[str, dict[str, Figure]] = {}
    judge = Judge(versions, dataset.folds, dataset.labels, families, ordered)
    for name, points in spaces(versions, options.adapter).items():
        table[name] = judge.figures(points)
        for figure, values in table[name].items():
            print(f"{name}, {figure}: {values[0]:.3f}", flush=True)
    table["perceptual"].update(held_out(judge, versions, options))
    show(table)
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["metric", "figure", "mean", "low", "high"])
            for metric, figures in table.items():
                for figure, values in figures.items():
                    writer.writerow([metric, figure, *(f"{value:.5f}" for value in values)])


Chosen = dict[str, list[int]]


def plan_versions(folds: np.ndarray) -> tuple[list[Version], Chosen, Chosen]:
    """All versions; which rows of it belong to each family, and to each kind at all strengths."""
    sides = Sides.of(folds)
    plan = [Version(index, CLEAN, 0.0) for index in range(len(folds))]
    for number, (kind, strength) in enumerate(EIGHT.values()):
        plan += [Version(int(i), kind, strength) for i in sides.degraded(number, DRAWS)]
    families: Chosen = {}
    for number, (family, kinds) in enumerate(FAMILIES.items()):
        rng = np.random.default_rng([54, number])
        for turn, index in enumerate(
            rng.permutation(sides.evaluated)[: FAMILY_DRAWS * sides.count]
        ):
            families.setdefault(family, []).append(len(plan))
            step = Step(kinds[turn % len(kinds)], STRENGTH)
            plan.append(Version.of_chain(int(index), (step,)))
    ordered: Chosen = {}
    for number, kind in enumerate(FAULTS):
        index = int(np.random.default_rng([55, number]).permutation(sides.evaluated)[0])
        for strength in STRENGTHS:
            ordered.setdefault(kind, []).append(len(plan))
            plan.append(Version.of_chain(index, (Step(kind, strength),)))
    return plan, families, ordered


def spaces(versions: VersionSet, own: Path | None) -> dict[str, Points]:
    """The points of the raw embedding, the artifact metric and the perceptual one."""
    spec = get_spec(MODEL)
    inner = network_spec(spec)
    edges = np.cumsum([part.dim for part, _ in parts_of(spec)])
    vectors = versions.vectors
    signal = np.concatenate([vectors[:, : inner.dim], vectors[:, edges[0] : edges[1]]], axis=1)
    artifact = adapter_for(inner, "artifact")
    perceptual = read_adapter(own, inner) if own else adapter_for(inner, "perceptual")
    assert artifact is not None
    assert perceptual is not None
    return {
        "raw": vectors[:, : inner.dim],
        "artifact": mapped(artifact.network, signal),
        "perceptual": mapped(perceptual.network, vectors),
    }


def mapped(network: Adapter, vectors: Points) -> Points:
    with torch.inference_mode():
        parts = [network(part) for part in torch.from_numpy(vectors).split(1024)]
        points: Points = torch.cat(parts).numpy()
    return points


class Judge:
    """The figures of one metric after the other on the same versions."""

    def __init__(
        self, versions: VersionSet, folds: np.ndarray, labels: np.ndarray, families: Chosen,
        ordered: Chosen,
    ) -> None:  # fmt: skip
        place = {(int(v), k, s): i for i, (v, k, s) in enumerate(
            zip(versions.clip, versions.kind, versions.strength, strict=True)
        )}  # fmt: skip
        plan, _, _ = plan_versions(folds)
        # rows come by clip, not in the order of the plan
        self.row = [place.get((v.clip, v.kind, v.strength), -1) for v in plan]
        self.plan, self.sides, self.labels = plan, Sides.of(folds), labels
        self.clean = np.array(self.row[: len(folds)])
        self.families, self.ordered = families, ordered

    def figures(self, points: Points) -> dict[str, Figure]:
        """All figures of a metric."""
        found: dict[str, Figure] = {"class 1-NN": once(self.nearest_class(points))}
        eight = {}
        for number, (name, (kind, strength)) in enumerate(EIGHT.items()):
            spoilt = self.sides.degraded(number, DRAWS)
            rows = [self._row(int(i), kind, strength) for i in spoilt]
            eight[name] = self.detect(points, spoilt, np.array(rows), DRAWS)
            found[f"AUROC {name}"] = interval(eight[name])
        seen = [v for name, v in eight.items() if "unseen" not in name]
        found["AUROC, mean of eight kinds"] = interval(np.mean(seen, axis=0))
        means = {name: self.family(points, name) for name in self.families}
        found.update({f"AUROC {name} family": interval(v) for name, v in means.items()})
        for title, kinds in RECONSTRUCTION.items():
            found[f"AUROC reconstruction, {title}"] = interval(
                self.family(points, "reconstruction", kinds)
            )
        found["AUROC, mean of families"] = interval(np.mean(list(means.values()), axis=0))
        found["strength and distance"] = interval(np.array(self.order(points)))
        return found

    def _row(self, clip: int, kind: str, strength: float) -> int:
        index = next(
            i
            for i, v in enumerate(self.plan)
            if (v.clip, v.kind, v.strength) == (clip, kind, strength)
        )
        return self.row[index]

    def family(self, points: Points, name: str, kinds: Sequence[str] = ()) -> np.ndarray:
        """AUROC of one family, or of some of its kinds, draw after draw."""
        chosen = self.families[name]
        clips = np.array([self.plan[i].clip for i in chosen])
        wanted = [not kinds or self.plan[i].chain[0].kind in kinds for i in chosen]
        rows = np.where(wanted, [self.row[i] for i in chosen], -1)
        return self.detect(points, clips, rows, FAMILY_DRAWS)

    def detect(self, points: Points, clips: np.ndarray, rows: np.ndarray, draws: int) -> np.ndarray:
        count = self.sides.count
        x = points[self.clean[self.sides.reference]]
        found = []
        for draw in range(draws):
            part = slice(draw * count, (draw + 1) * count)
            able = rows[part] >= 0
            kept = np.setdiff1d(self.sides.evaluated, clips[part])
            y = np.concatenate([points[self.clean[kept]], points[rows[part][able]]])
            found.append(auroc((np.arange(len(y)) >= len(kept)).astype(float), exact_costs(x, y)))
        return np.array(found)

    def nearest_class(self, points: Points) -> float:
        x, y = self.sides.reference, self.sides.evaluated
        clean = points[self.clean]
        return class_accuracy(clean[x], clean[y], self.labels[x], self.labels[y])

    def order(self, points: Points) -> list[float]:
        found = []
        for chosen in self.ordered.values():
            twin = points[self.clean[self.plan[chosen[0]].clip]]
            away = [float(np.square(points[self.row[i]] - twin).sum()) for i in chosen]
            found.append(0.0 if np.ptp(away) == 0 else float(spearmanr(STRENGTHS, away).statistic))
        return found


def held_out(judge: Judge, versions: VersionSet, options: argparse.Namespace) -> dict[str, Figure]:
    """Each family under a metric that was trained without it."""
    found = {}
    config = TrainingConfig.for_variant("perceptual")
    material = prepare(
        "yamnet", options.sounds, config, cache_dir=options.cache_dir, workers=options.workers
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in FAMILIES:
            changed = replace(config, leave_out=name)
            torch.manual_seed(config.seed)
            recipe = PerceptualRecipe(changed, material)
            fit(recipe, changed, Path(folder) / name)
            found[name] = judge.family(mapped(recipe.network.eval(), versions.vectors), name)
            print(f"without {name}: {found[name].mean():.3f}", flush=True)
    figures = {f"AUROC {name} family, held out": interval(v) for name, v in found.items()}
    means = np.mean(list(found.values()), axis=0)
    return {**figures, "AUROC, mean of held-out families": interval(means)}


def once(value: float) -> Figure:
    return value, value, value


def interval(values: np.ndarray) -> Figure:
    """Mean and a 95 % bootstrap interval."""
    rng = np.random.default_rng(52)
    means = values[rng.integers(len(values), size=(1000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def show(table: dict[str, dict[str, Figure]]) -> None:
    rows = list(table["perceptual"])
    print("| ESC-50 | " + " | ".join(table) + " |")
    print("|---|" + "---|" * len(table))
    for row in rows:
        cells = [f"{f[row][0]:.3f}" if row in f else "–" for f in table.values()]
        print(f"| {row} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
