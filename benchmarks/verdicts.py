"""Measures verdicts on single clips, floors by design, and the excess, on ESC-50 with faults.

    python benchmarks/verdicts.py ESC50 alarms    false alarms and what is found
    python benchmarks/verdicts.py ESC50 some      level and power of "some clips are bad"
    python benchmarks/verdicts.py ESC50 level     level of the permutation tests, by design
    python benchmarks/verdicts.py ESC50 excess    the excess of one distribution
    python benchmarks/verdicts.py ESC50 epsilon   which ε tells sets apart best

ESC50 is the folder of the published set. Reference and evaluated clips are drawn without replacement
from its 2,000 clips, so that no evaluated clip has a twin in the reference, unless --twins asks for
that. Spoilt clips have a fault of ``otadtk.audio.perturb`` at strength 0.5. Each part prints a table
in Markdown; --runs, --sizes and --variants choose what is measured.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from otadtk.distances.subsets import kernel_between, transport_between
from otadtk.distances.transport.couplings import TransportSettings
from otadtk.distances.transport.regime import SMOOTH_LIMIT
from otadtk.embed.store import EmbeddingStore
from otadtk.engine import LocalEngine
from otadtk.evaluation.defaults import ENOUGH, PERMUTATIONS
from otadtk.experiments.data import Embedded, Space, clean_plan, read_clips
from otadtk.metrics.verdicts import squares_between
from otadtk.statistics.designs import Design, Free, Pairs, Strata
from otadtk.statistics.excess import excess_score
from otadtk.statistics.judging import crowds, judge_clips
from otadtk.statistics.ranking import auroc
from otadtk.statistics.resampling import permutation_floor
from otadtk.statistics.verdicts import Verdicts
from otadtk.training.spoil import CLEAN
from otadtk.training.versions import Version

KINDS = ("dropouts", "clipping", "loop", "band_limit", "noise", "clicks")
STRENGTH = 0.5
CLIPS_PER_KIND = 300
ENGINE = LocalEngine(1)
Array = np.ndarray
METRICS = {
    "OTAD": lambda pool: transport_between(pool, TransportSettings()),
    "KAD": lambda pool: kernel_between(pool),
}
"""The distance between subsets of a pool. The level of a permutation test is the same for both, and
KAD is much faster."""


@dataclass(frozen=True)
class Bank:
    """Clean clips and spoilt versions of some, in the space of one variant."""

    space: Space
    labels: Array
    spoilt: Array
    """The clips that have spoilt versions."""

    def draw(
        self, n: int, m: int, share: float, kind: str, seed: list[int], *, twins: bool = False
    ) -> tuple[Array, Array, int]:
        """Rows of the reference and the evaluated clips (spoilt ones first), and how many are spoilt."""
        rng = np.random.default_rng([*seed, n, m])
        count = round(share * m)
        bad = rng.permutation(self.spoilt)[:count]
        clean = self.space.versions.rows(CLEAN)
        others = rng.permutation(np.setdiff1d(np.arange(len(clean)), bad))
        reference, kept = others[:n], others[n : n + m - count]
        if twins:  # every evaluated clip, the spoilt ones too, was made from a reference clip
            kept = others[: m - count]
            reference = np.concatenate([bad, others[: n - count]])
        faults = self.space.versions.rows(kind, STRENGTH)[bad] if count else clean[:0]
        return clean[reference], np.concatenate([faults, clean[kept]]), count

    @cached_property
    def squares(self) -> dict[bool, Array]:
        """The squared distances of all versions of all clips, where clips may crowd and elsewhere."""
        every = np.arange(len(self.space.points))
        spaces = {False: self.space.points, True: self.space.for_clips}
        return {
            crowd: squares_between(points.astype(np.float64))(every, every)
            for crowd, points in spaces.items()
        }

    def judge(self, reference: Array, evaluated: Array, seed: int, fdr: float = 0.1) -> Verdicts:
        """The verdicts on the evaluated clips."""
        rows = np.concatenate([reference, evaluated])
        squares = self.squares[crowds(len(reference), len(evaluated), grouped=False)]
        return judge_clips(
            lambda i, j: squares[np.ix_(rows[i], rows[j])],
            len(reference),
            len(evaluated),
            fdr=fdr,
            seed=seed,
        )


def load(folder: Path, variants: list[str]) -> dict[str, Bank]:
    """The bank of each variant of yamnet, and of ``logmel``; a store keeps the embeddings."""
    data = read_clips(folder)
    spoilt = np.sort(np.random.default_rng(17).permutation(len(data.clips))[:CLIPS_PER_KIND])
    versions = tuple(Version(int(i), kind, STRENGTH) for kind in KINDS for i in spoilt)
    plan = (*clean_plan(len(data.clips)), *versions)
    banks = {}
    for name in variants:
        model, variant = ("logmel", "raw") if name == "logmel" else ("yamnet", name)
        embedded = Embedded(data, model, EmbeddingStore(None), engine=ENGINE)
        banks[name] = Bank(embedded.space(plan, variant), data.labels, spoilt)
    return banks


def cases(options: argparse.Namespace) -> list[tuple[float, str]]:
    """The share of spoilt clips and their kind."""
    return [(0.0, "none"), *((options.share, kind) for kind in options.kinds)]


def measure_alarms(banks: dict[str, Bank], options: argparse.Namespace) -> None:
    """The share of false alarms among the clips called bad, and the share of bad clips found."""
    print(f"{options.runs} runs, 10 %, twins: {options.twins}\n")
    print(
        "| variant | N, M | spoilt | kind | false alarms | found | by e-values: | found | AUROC |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, bank in banks.items():
        for n, m in options.sizes:
            for share, kind in cases(options):
                rates, found, areas = [], [], []
                for run in range(options.runs):
                    x, y, count = bank.draw(n, m, share, kind, [1, run], twins=options.twins)
                    verdicts = bank.judge(x, y, run)
                    called = np.array([verdicts.bad, verdicts.proven])
                    rates.append(called[:, count:].sum(1) / np.maximum(1, called.sum(1)))
                    if count:
                        found.append(called[:, :count].mean(axis=1))
                        areas.append(auroc(np.arange(m) < count, -verdicts.p))
                means = 100 * np.mean(rates, axis=0)
                errors = 100 * np.std(rates, axis=0) / np.sqrt(len(rates))
                seen = (
                    [f"{100 * each:.0f} %" for each in np.mean(found, 0)] if found else ["–", "–"]
                )
                area = f"{np.mean(areas):.3f}" if areas else "–"
                columns = [
                    f"{mean:.1f} ± {error:.1f} % | {each}"
                    for mean, error, each in zip(means, errors, seen, strict=True)
                ]
                print(
                    f"| {name} | {n}, {m} | {100 * share:g} % | {kind} | {' | '.join(columns)} | "
                    f"{area} |",
                    flush=True,
                )


def measure_some(banks: dict[str, Bank], options: argparse.Namespace) -> None:
    """How often "some clips are bad" is said at 5 %, of unspoilt and of spoilt sets."""
    print(f"{options.runs} runs; the interval is that of the share of spoilt clips\n")
    print("| variant | N, M | spoilt | kind | p ≤ 0.05 | interval contains the share |")
    print("|---|---|---|---|---|---|")
    for name, bank in banks.items():
        for n, m in options.sizes:
            for share, kind in cases(options):
                said, inside = [], []
                for run in range(options.runs):
                    x, y, count = bank.draw(n, m, share, kind, [2, run])
                    spoilt = bank.judge(x, y, run).spoilt
                    said.append(spoilt.p_value <= 0.05)
                    inside.append(spoilt.share.low <= count / m <= spoilt.share.high)
                print(
                    f"| {name} | {n}, {m} | {100 * share:g} % | {kind} | "
                    f"{100 * np.mean(said):.1f} % | {100 * np.mean(inside):.1f} % |",
                    flush=True,
                )


def designed(bank: Bank, kind: str, clips: int, rng: np.random.Generator) -> tuple[Array, Design]:
    """A pool of two sets that are alike under their design, and the design."""
    clean, pool = bank.space.clean(), 2 * clips
    if kind == "free":
        return clean[rng.permutation(len(clean))[:pool]], Free(pool)
    if kind == "strata":  # the same categories in equal numbers on both sides
        chosen = rng.permutation(np.unique(bank.labels))[: clips // 5]
        rows = [rng.permutation(np.flatnonzero(bank.labels == label))[:10] for label in chosen]
        order = np.concatenate([*(row[:5] for row in rows), *(row[5:] for row in rows)])
        return clean[order], Strata(tuple(bank.labels[order].tolist()))
    rows = rng.permutation(len(clean))[:clips]  # two equally noisy copies of every clip
    noise = 0.3 * rng.normal(size=(2, clips, clean.shape[1])) * clean.std(axis=0)
    copies = np.concatenate([clean[rows] + noise[0], clean[rows] + noise[1]])
    pairs = tuple((k, clips + k) for k in range(clips))
    return copies.astype(np.float32), Pairs(pool, pairs)


def measure_level(banks: dict[str, Bank], options: argparse.Namespace) -> None:
    """How often each permutation test rejects at 5 % where its design holds."""
    clips = options.sizes[0][0]
    print(f"{options.runs} runs, N = M = {clips}, up to 99 permutations, {options.metric}\n")
    print("| variant | design | rejected at 5 % |")
    print("|---|---|---|")
    for name, bank in banks.items():
        for kind in ("free", "strata", "pairs"):
            rejected = []
            for run in range(options.runs):
                pool, design = designed(bank, kind, clips, np.random.default_rng([3, run]))
                distance = METRICS[options.metric](pool)
                n = len(pool) // 2
                floor = permutation_floor(
                    distance,
                    n,
                    n,
                    replicates=PERMUTATIONS,
                    design=design,
                    enough=ENOUGH,
                    seed=run,
                    engine=ENGINE,
                )
                rejected.append(floor.p_value <= 0.05)
            print(f"| {name} | {kind} | {100 * np.mean(rejected):.1f} % |", flush=True)


def measure_excess(banks: dict[str, Bank], options: argparse.Namespace) -> None:
    """The mean excess of two samples of one distribution, and how often its interval contains 0."""
    print("| variant | N = M | runs | mean excess | its standard error | interval contains 0 |")
    print("|---|---|---|---|---|---|")
    for name, bank in banks.items():
        for n, m in options.sizes:
            values, inside = [], []
            for run in range(options.runs):
                x, y, _ = bank.draw(n, m, 0.0, "none", [4, run])
                pool = bank.space.points[np.concatenate([x, y])]
                found = excess_score(METRICS[options.metric](pool), n, m, seed=run, engine=ENGINE)
                values.append(found.value)
                inside.append(found.low <= 0.0 <= found.high)
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            print(
                f"| {name} | {n} | {len(values)} | {np.mean(values):.4f} | {error:.4f} | "
                f"{100 * np.mean(inside):.0f} % |",
                flush=True,
            )


RELATIVE_EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def measure_epsilon(banks: dict[str, Bank], options: argparse.Namespace) -> None:
    """How far above its floor OTAD is, in deviations of the floor, by ε over the median cost."""
    n, m = options.sizes[0]
    regimes = ["sharp" if 1.0 / each > SMOOTH_LIMIT else "smooth" for each in RELATIVE_EPSILONS]
    print(f"{options.runs} runs, N = {n}, M = {m}, 19 permutations: (score − floor) / deviation\n")
    print("| variant | sets |" + "".join(f" {epsilon:g} |" for epsilon in RELATIVE_EPSILONS))
    print("|---|---|" + "---|" * len(RELATIVE_EPSILONS))
    print("| | regime |" + "".join(f" {regime} |" for regime in regimes))
    for name, bank in banks.items():
        for kind in ("half of the classes", *options.kinds):
            heights = []
            for run in range(options.runs):
                if kind in KINDS:
                    x, y, _ = bank.draw(n, m, 0.2, kind, [5, run])
                else:
                    x, y = half_of_the_classes(bank, n, m, np.random.default_rng([5, run]))
                pool = bank.space.points[np.concatenate([x, y])]
                heights.append([height(pool, n, m, each, run) for each in RELATIVE_EPSILONS])
            cells = "".join(f" {mean:.1f} |" for mean in np.mean(heights, axis=0))
            print(f"| {name} | {kind} |{cells}", flush=True)


def half_of_the_classes(
    bank: Bank, n: int, m: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """A reference of all classes and evaluated clips of half of them."""
    rows, classes = bank.space.versions.rows(CLEAN), rng.permutation(np.unique(bank.labels))
    order = rng.permutation(len(rows))
    half = np.isin(bank.labels[order], classes[: len(classes) // 2])
    evaluated = order[half][:m]
    return rows[np.setdiff1d(order, evaluated, assume_unique=True)[:n]], rows[evaluated]


def height(pool: Array, n: int, m: int, epsilon: float, seed: int) -> float:
    """The score above its floor in deviations of the floor."""
    squares = squares_between(pool.astype(np.float64))(np.arange(n), n + np.arange(m))
    settings = TransportSettings(epsilon=epsilon * float(np.median(squares)))
    distance = transport_between(pool, settings)
    floor = permutation_floor(distance, n, m, replicates=19, seed=seed, engine=ENGINE)
    return (distance(np.arange(n), n + np.arange(m)) - floor.mean) / floor.deviation


PARTS = {
    "alarms": measure_alarms,
    "some": measure_some,
    "level": measure_level,
    "excess": measure_excess,
    "epsilon": measure_epsilon,
}


def size(text: str) -> tuple[int, int]:
    """N or N,M."""
    first, _, second = text.partition(",")
    return int(first), int(second or first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="ESC-50 as published")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=size, nargs="+", default=[(200, 200)], metavar="N,M")
    parser.add_argument("--variants", nargs="+", default=["artifact"])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS[:2]), choices=KINDS)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--twins", action="store_true")
    parser.add_argument("--metric", choices=METRICS, default="OTAD", help="of level and excess")
    options = parser.parse_args()
    torch.set_num_threads(1)
    PARTS[options.part](load(options.folder, options.variants), options)


if __name__ == "__main__":
    main()
