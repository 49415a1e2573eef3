"""Measures the cost of the statistics of a score, and the coverage of their intervals.

    python benchmarks/floors.py cost        --null 200 against one score, N = M = 500, d = 1024
    python benchmarks/floors.py coverage    the 95 % interval of a score in 200 runs of each metric
    python benchmarks/floors.py difference  the 95 % interval of a difference, by both methods
    python benchmarks/floors.py difference-cost    the cost of intervals, N = M = 500, d = 1024

Each prints a table in Markdown. Times are wall clock and CPU seconds of one process. A ratio is the
time of the floor over the median time of scores computed before, between and after.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from otadtk import compute_fad, compute_kad
from otadtk.distances.subsets import (
    SubsetDistance,
    frechet_between,
    kernel_between,
    transport_between,
)
from otadtk.distances.transport.couplings import TransportSettings
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.engine import LocalEngine, default_workers
from otadtk.statistics.differences import (
    Difference,
    bootstrap_difference,
    bootstrap_scores,
    jackknife_difference,
)
from otadtk.statistics.resampling import jackknife_interval, permutation_floor

Array = np.ndarray
Between = Callable[[Array], SubsetDistance]
Way = Callable[..., Difference]
BAR = 120.0
KINDS = ("moved and wider, d = 3", "unit norm, d = 64", "one distribution, d = 3")


def otad_between(pool: Array) -> SubsetDistance:
    return transport_between(pool, TransportSettings())


ONE = LocalEngine(1)
BETWEEN: dict[str, Between] = {"OTAD": otad_between, "FAD": frechet_between, "KAD": kernel_between}


def spectral(rng: np.random.Generator, n: int, d: int, norm: float, shift: float) -> Array:
    """Points of equal norm with a spectrum that decays like an encoder's."""
    spread = np.arange(1, d + 1) ** -0.7
    points = (rng.normal(size=(n, d)) + shift) * spread
    points *= norm / np.linalg.norm(points, axis=1, keepdims=True)
    return points.astype(np.float32)


def measure_cost(clips: int, dimensions: int, replicates: int) -> None:
    workers = default_workers()
    print(f"N = M = {clips}, d = {dimensions}, {replicates} permutations, {workers} threads\n")
    print("| metric | one score | the floor | ratio, wall clock | ratio, CPU | bar |")
    print("|---|---|---|---|---|---|")
    cases = [(f"OTAD, norm {norm:g}", "OTAD", norm) for norm in (1.0, 4.0, 20.0)]
    for title, name, norm in [*cases, ("FAD", "FAD", 1.0), ("KAD", "KAD", 1.0)]:
        rng = np.random.default_rng(0)
        x, y = (spectral(rng, clips, dimensions, norm, shift) for shift in (0.0, 0.1))
        scores: dict[str, Callable[[], object]] = {
            "OTAD": lambda x=x, y=y: sinkhorn_divergence(x, y),
            "FAD": lambda x=x, y=y: compute_fad(x, y),
            "KAD": lambda x=x, y=y: compute_kad(x, y),
        }
        scores[name]()  # warm
        single = [timed(scores[name]) for _ in range(4)]

        def floor(name: str = name, x: Array = x, y: Array = y) -> None:
            distance = BETWEEN[name](np.concatenate([x, y]))
            half = replicates // 2
            for part, seed in ((half, 0), (replicates - half, 1)):
                permutation_floor(
                    distance,
                    len(x),
                    len(y),
                    replicates=part,
                    seed=seed,
                    engine=LocalEngine(workers),
                )

        wall, cpu = timed(floor)
        single += [timed(scores[name]) for _ in range(4)]
        one_wall, one_cpu = (statistics.median(column) for column in zip(*single, strict=True))
        ratio = wall / one_wall
        verdict = "met" if ratio <= BAR else "missed"
        print(
            f"| {title} | {one_wall * 1e3:.0f} ms | {wall:.1f} s | {ratio:.0f} | "
            f"{cpu / one_cpu:.0f} | ≤ {BAR:.0f}: {verdict} |",
            flush=True,
        )


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """(wall, CPU) seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def draw(kind: str, clips: int, rng: np.random.Generator) -> Array:
    """The pool of a reference and an evaluated set."""
    if kind == "unit norm, d = 64":
        sides = [spectral(rng, clips, 64, 1.0, shift) for shift in (0.0, 0.3)]
    else:
        apart = kind == "moved and wider, d = 3"
        other = 0.5 + 1.3 * rng.normal(size=(clips, 3)) if apart else rng.normal(size=(clips, 3))
        sides = [rng.normal(size=(clips, 3)), other]
    return np.concatenate(sides).astype(np.float32)


def measure_coverage(clips: int, runs: int, names: list[str], sets: str, seed: int) -> None:
    print(f"N = M = {clips}, {runs} runs, 20 groups, draws of seed {seed}\n")
    print("| metric | sets | expected score | its deviation, by jackknife | coverage |")
    print("|---|---|---|---|---|")
    everyone = np.arange(clips), clips + np.arange(clips)
    for name in names:
        for kind in (kind for kind in KINDS if kind.startswith(sets)):
            rng = np.random.default_rng(seed)
            intervals = [
                jackknife_interval(
                    BETWEEN[name](draw(kind, clips, rng)), clips, clips, seed=run, engine=ONE
                )
                for run in range(runs)
            ]
            scores = [interval.score for interval in intervals]
            scores += [BETWEEN[name](draw(kind, clips, rng))(*everyone) for _ in range(3 * runs)]
            expected = float(np.mean(scores))
            hits = np.mean([i.low <= expected <= i.high for i in intervals])
            jackknife = float(np.sqrt(np.mean([i.deviation**2 for i in intervals])))
            print(
                f"| {name} | {kind} | {expected:.4g} | {np.std(scores):.3g}, {jackknife:.3g} | "
                f"{hits:.1%} |",
                flush=True,
            )


def draw_systems(kind: str, clips: int, rng: np.random.Generator, *, paired: bool) -> Array:
    """The pool of a reference and two systems; paired systems share half of their variance."""
    if kind == "unit norm, d = 64":
        sides = [spectral(rng, clips, 64, 1.0, shift) for shift in (0.0, 0.3, 0.2)]
        if paired:
            both = sides[1] + sides[2]
            sides[2] = both / np.linalg.norm(both, axis=1, keepdims=True)
        return np.concatenate(sides)
    moves = {"moved and wider, d = 3": ((0.5, 1.3), (0.3, 1.0))}.get(kind, ((0, 1), (0, 1)))
    noise = rng.normal(size=(3, clips, 3))
    if paired:
        noise[2] = (noise[1] + noise[2]) / np.sqrt(2.0)
    sides = [m + s * part for (m, s), part in zip(((0, 1), *moves), noise, strict=True)]
    return np.concatenate(sides).astype(np.float32)


def by_jackknife(
    distance: SubsetDistance, clips: int, *, seed: int = 0, paired: bool = False
) -> Difference:
    """The difference of the scores of two systems."""
    first, second = (
        jackknife_interval(
            lambda i, j, s=shift: distance(i, j + s), clips, clips, seed=seed, engine=ONE
        )
        for shift in (0, clips)
    )
    return jackknife_difference(first, second, paired=paired)


def by_bootstrap(
    distance: SubsetDistance,
    clips: int,
    *,
    replicates: int,
    seed: int = 0,
    paired: bool = False,
) -> Difference:
    """The difference of the scores of two systems, by bootstrap."""
    x = np.arange(clips)
    value = distance(x, clips + x) - distance(x, 2 * clips + x)
    scores = bootstrap_scores(
        distance, clips, (clips, clips), replicates=replicates, paired=paired, seed=seed, engine=ONE
    )
    return bootstrap_difference(value, *scores.T)


def measure_difference_cost(clips: int, dimensions: int, replicates: int) -> None:
    print(f"N = M = {clips}, d = {dimensions}, two systems, one thread, CPU time\n")
    print(
        f"| metric | interval of one score | difference by jackknife | bootstrap of {replicates} |"
    )
    print("|---|---|---|---|")
    cases = [(f"OTAD, norm {norm:g}", "OTAD", norm) for norm in (1.0, 4.0, 20.0)]
    for title, name, norm in [*cases, ("FAD", "FAD", 1.0), ("KAD", "KAD", 1.0)]:
        rng = np.random.default_rng(0)
        sides = [spectral(rng, clips, dimensions, norm, shift) for shift in (0.0, 0.1, 0.05)]
        fresh = partial(BETWEEN[name], np.concatenate(sides))  # a new object, without cached terms
        _, interval = timed(partial(jackknife_interval, fresh(), clips, clips, engine=ONE))
        _, jackknife = timed(partial(by_jackknife, fresh(), clips))
        _, bootstrap = timed(partial(by_bootstrap, fresh(), clips, replicates=replicates))
        print(f"| {title} | {interval:.1f} s | {jackknife:.1f} s | {bootstrap:.1f} s |", flush=True)


def measure_difference(
    clips: int,
    runs: int,
    names: list[str],
    sets: str,
    pairs: str,
    ways: dict[str, Way],
    seed: int,
) -> None:
    print(f"N = M = {clips}, {runs} runs, draws of seed {seed}\n")
    columns = "".join(f" coverage by {way} |" for way in ways)
    deviations = ", ".join(["its deviation", *(f"by {way}" for way in ways)])
    print(f"| metric | systems | expected difference | {deviations} |{columns}")
    print("|---|---|---|---|" + "---|" * len(ways))
    x = np.arange(clips)
    for name in names:
        for kind in (kind for kind in KINDS if kind.startswith(sets)):
            for paired in {"no": (False,), "yes": (True,), "both": (False, True)}[pairs]:
                rng = np.random.default_rng(seed)
                distances = (
                    BETWEEN[name](draw_systems(kind, clips, rng, paired=paired))
                    for _ in range(4 * runs)
                )
                found: dict[str, list[Difference]] = {way: [] for way in ways}
                values = []
                for run, distance in enumerate(distances):
                    values.append(distance(x, clips + x) - distance(x, 2 * clips + x))
                    for way, by in ways.items() if run < runs else ():
                        found[way].append(by(distance, clips, seed=run, paired=paired))
                expected = float(np.mean(values))
                spread = [np.sqrt(np.mean([d.deviation**2 for d in found[way]])) for way in ways]
                hits = [np.mean([d.low <= expected <= d.high for d in found[way]]) for way in ways]
                print(
                    f"| {name} | {kind}{', paired' if paired else ''} | {expected:.4g} | "
                    f"{', '.join(f'{s:.3g}' for s in (np.std(values), *spread))} | "
                    f"{' | '.join(f'{h:.1%}' for h in hits)} |",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["cost", "coverage", "difference", "difference-cost"])
    parser.add_argument("--clips", type=int, help="N = M (default: 500, for intervals 60)")
    parser.add_argument("--dimensions", type=int, default=1024)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--metrics", default="OTAD,FAD,KAD")
    parser.add_argument("--sets", default="", help="how the kinds of sets to draw begin")
    parser.add_argument("--paired", choices=["no", "yes", "both"], default="both")
    parser.add_argument("--by", choices=["jackknife", "bootstrap", "both"], default="both")
    parser.add_argument("--seed", type=int, default=0, help="of the draws that intervals are for")
    options = parser.parse_args()
    if options.what == "cost":
        measure_cost(options.clips or 500, options.dimensions, options.replicates)
        return
    if options.what == "difference-cost":
        measure_difference_cost(options.clips or 500, options.dimensions, options.replicates)
        return
    clips, runs = options.clips or 60, options.runs
    names, sets = options.metrics.split(","), options.sets
    if options.what == "coverage":
        measure_coverage(clips, runs, names, sets, options.seed)
    else:
        bootstrap = partial(by_bootstrap, replicates=options.replicates)
        known: dict[str, Way] = {"jackknife": by_jackknife, "bootstrap": bootstrap}
        ways = known if options.by == "both" else {options.by: known[options.by]}
        measure_difference(clips, runs, names, sets, options.paired, ways, options.seed)


if __name__ == "__main__":
    main()
