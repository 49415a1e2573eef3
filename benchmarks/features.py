"""Which weight-free features earn their place: each group left out, on faults that were not seen.

    python benchmarks/features.py SOUNDS [--csv TABLE] [--cache-dir DIR]

A detector learns from the training classes of SOUNDS to tell clean clips from faulty ones of all kinds
but one (or of all families but one). It is tested on the held-out classes, with the kind (or family)
that it has not seen, at strength 0.75. A group of features is worth what the AUROC loses without it.
The detector is a ridge regression on the features and their squares: sums over clips are kept by
kind, so each of the many fits is a small system, and none depends on a seed.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.faults import FAMILIES, FAULTS
from otadtk.encoders.features import signal, texture
from otadtk.encoders.features.measured import parts_of
from otadtk.statistics.ranking import auroc
from otadtk.training.config import TrainingConfig
from otadtk.training.fault_plan import UNHEARD
from otadtk.training.recipes import Material
from otadtk.training.spoil import CLEAN, EXCERPT
from otadtk.training.train import prepare

Floats = NDArray[np.float64]
FEATURES = (*signal.NAMES, *(f"texture {name}" for name in texture.NAMES))
GROUPS: dict[str, tuple[str, ...]] = {
    "flat tops, held samples, crest": ("flat_top", "held", "crest"),
    "gaps": ("gap",),
    "impulses": ("impulse", "edge_kurtosis"),
    "noise floor": ("floor_",),
    "bands and edge of the band": ("flatness", "band_", "roll_off", "steepest_edge", "above_edge"),
    "repetition": ("repetition", "spectral_repetition"),
    "rises and falls of level": ("rise", "fall", "flux_", "start_level", "end_level"),
    "coherence of phase": ("texture coherence",),
    "alignment of phase at pulses": ("texture impulsive", "texture most_impulsive"),
    "movement of pitch": ("texture pitch_move",),
    "grain": ("texture grain",),
    "musical noise and holes": (
        "texture isolated", "texture holes", "texture flatness", "texture hold",
    ),
    "tonal lines": ("texture lines", "texture floor_lines", "texture line_"),
    "comb and echo": ("texture comb", "texture echo"),
    "harmonicity": ("texture harmonic", "texture most_harmonic", "texture least_harmonic"),
    "modulation": ("texture modulation",),
    "reverberant decay": ("texture decay", "texture fast_decay", "texture rise"),
    "onsets and pre-echo": ("texture onset", "texture pre_echo"),
    "frozen frames and flux": ("texture frozen", "texture mostly_frozen", "texture flux"),
    "samples": tuple(f"texture {name}" for name in texture.samples.NAMES),
}  # fmt: skip
RIDGE = 10.0
BOUND = 4.0
DRAWS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sounds", type=Path)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--cache-dir", type=Path)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    config = TrainingConfig.for_variant("perceptual")
    material = prepare(
        "yamnet", options.sounds, config, cache_dir=options.cache_dir, workers=options.workers
    )
    trial = Trial(material)
    kinds = {kind: (kind,) for kind in sorted(FAULTS) if kind not in UNHEARD}
    held_out: tuple[Mapping[str, Sequence[str]], ...] = (kinds, FAMILIES)
    whole = [
        trial.figures(unseen, np.ones(len(FEATURES), dtype=bool)) for unseen in (kinds, FAMILIES)
    ]
    means = [np.mean(list(figures.values())) for figures in whole]
    table: list[tuple[str, ...]] = [
        ("left out", "features", "lost on kinds", "kind that loses most", "lost on families"),
        ("nothing", "0", f"AUROC {means[0]:.3f}", "", f"AUROC {means[1]:.3f}"),
    ]
    for name, starts in GROUPS.items():
        own = np.array([feature.startswith(starts) for feature in FEATURES])
        lost = []
        for unseen, before in zip(held_out, whole, strict=True):
            after = trial.figures(unseen, ~own)
            lost.append({key: before[key] - after[key] for key in before})
        worst = max(lost[0], key=lambda kind: lost[0][kind])
        most = f"{worst}, {lost[0][worst]:+.3f}"
        table.append((name, str(own.sum()), shown(lost[0]), most, shown(lost[1])))
    for row in table:
        print("| " + " | ".join(row) + " |")
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(table)


@dataclass(frozen=True, eq=False)
class Sums:
    """Products of columns, summed over clips: what a regression needs of them."""

    products: Floats
    count: int

    @classmethod
    def of(cls, rows: Floats) -> Sums:
        return cls(rows.T @ rows, len(rows))

    def without(self, other: Sums) -> Sums:
        return Sums(self.products - other.products, self.count - other.count)


class Trial:
    """Clean and faulty clips to learn from, and held-out ones to test on."""

    def __init__(self, material: Material) -> None:
        versions, faults = material.versions, material.faults
        assert faults is not None
        start = parts_of(material.spec)[0][0].dim
        stop = start + len(FEATURES)
        clean = versions.rows(CLEAN)
        taught = versions.vectors[clean[np.flatnonzero(material.train)], start:stop]
        excerpts = faults.vectors[faults.kind == EXCERPT, : len(FEATURES)]
        self._centre, self._spread = taught.mean(axis=0), taught.std(axis=0) + 1e-6
        self._clean = Sums.of(self._lifted(np.concatenate([taught, excerpts])))
        self._spoilt = self._lifted(faults.vectors[:, : len(FEATURES)])
        self._has = {
            kind: np.array(
                [any(s.kind == kind for s in chain) or own == kind for chain, own in
                 zip(faults.chains, faults.kind, strict=True)]
            )
            for kind in FAULTS
        }  # fmt: skip
        self._faulty = faults.kind != EXCERPT
        self._all = Sums.of(self._spoilt[self._faulty])
        self._kept_sums: dict[str, Sums] = {}
        held_out = clean[np.flatnonzero(material.validation)]
        self._tested_clean = self._lifted(versions.vectors[held_out, start:stop])
        chosen = material.validation[versions.clip]
        single = np.array([chain[0].kind if len(chain) == 1 else "" for chain in versions.chains])
        self._tested = {
            kind: self._lifted(versions.vectors[chosen & (single == kind), start:stop])
            for kind in FAULTS
        }

    def _lifted(self, features: NDArray[np.float32]) -> Floats:
        """Features in deviations of the clean clips, bounded; their squares; a constant."""
        z = BOUND * np.tanh((features - self._centre) / self._spread / BOUND)
        return np.concatenate([z, z * z, np.ones((len(z), 1))], axis=1).astype(np.float64)

    def figures(
        self, unseen: Mapping[str, Sequence[str]], kept: NDArray[np.bool_]
    ) -> dict[str, float]:
        """The AUROC of each entry of ``unseen``, by a detector that has seen none of its kinds."""
        columns = np.concatenate([kept, kept, [True]])
        found = {}
        for name, kinds in unseen.items():
            removed = np.any([self._has[kind] for kind in kinds], axis=0) & self._faulty
            spoilt = self._all.without(self._sums(name, removed))
            slopes = fit(self._clean, spoilt, columns)
            tested = np.concatenate([self._tested[kind] for kind in kinds])
            if len(tested):
                scores = np.concatenate([self._tested_clean, tested])[:, columns] @ slopes
                known = np.repeat([0.0, 1.0], [len(self._tested_clean), len(tested)])
                found[name] = auroc(known, scores)
        return found

    def _sums(self, name: str, rows: NDArray[np.bool_]) -> Sums:
        if name not in self._kept_sums:
            self._kept_sums[name] = Sums.of(self._spoilt[rows])
        return self._kept_sums[name]


def fit(clean: Sums, spoilt: Sums, columns: NDArray[np.bool_]) -> Floats:
    """The slopes of a ridge regression to 0 for clean and 1 for faulty clips, both of equal weight."""
    total = clean.count + spoilt.count
    normal = 0.5 * total * (clean.products / clean.count + spoilt.products / spoilt.count)
    right = 0.5 * total * spoilt.products[-1] / spoilt.count  # the last column is constant
    chosen = np.ix_(columns, columns)
    ridge = RIDGE * np.eye(int(columns.sum()))
    found: Floats = np.linalg.solve(normal[chosen] + ridge, right[columns])
    return found


def shown(lost: Mapping[str, float]) -> str:
    """The mean with a 95 % interval over the entries."""
    values = np.array(list(lost.values()))
    rng = np.random.default_rng(58)
    means = values[rng.integers(len(values), size=(DRAWS, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():+.4f} ({low:+.4f} to {high:+.4f})"


if __name__ == "__main__":
    main()
