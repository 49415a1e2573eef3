"""Measures the solver against its bars and its peers; writes a table and a plot.

    python benchmarks/solver.py FOLDER [--output docs/evidence/benchmarks.md] [--peers DIR] [--only …]

FOLDER is audio: its YAMNet patch embeddings are the data. Every figure comes from a fresh process.
The contestants alternate; the ratio of their medians in the same run is compared. The peers have
separate environments (peers.py), which are built if missing. The rows of each part are kept beside the
page, so that ``--only`` can repeat one part and the page (solver_page.py) still shows all of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import peers
from solver_data import REGIMES, load_embeddings, two_sets
from solver_page import MET, MISSED, PAGE, write_page

HERE = Path(__file__).resolve().parent
EPSILON = 0.1
DIMENSIONS = (128, 512, 1024)
CLOCKS = {"cpu": "processor time", "wall": "wall-clock time"}
LONG = 20.0
"""A contestant that takes more seconds than this has only one turn."""


class Bench:
    """Runs contestants on problems and keeps their results."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options, self.scratch = options, scratch
        self.embeddings = load_embeddings(options.data)
        alone = set(options.only.split(",")) <= ALONE
        self.environments = options.peers if alone else peers.build(options.peers)
        self.rows: list[tuple[str, ...]] = []
        self.curves: dict[str, list[tuple[float, float]]] = {}

    def problem(self, n: int, dimension: int, regime: str) -> dict[str, object]:
        """The paths of the two sets, which are written once."""
        place = self.scratch / f"{n}-{dimension}-{regime}"
        if not place.exists():
            place.mkdir()
            x, y = two_sets(self.embeddings, n, dimension, regime)
            np.save(place / "x.npy", x)
            np.save(place / "y.npy", y)
        return {"x": str(place / "x.npy"), "y": str(place / "y.npy"), "epsilon": EPSILON}

    def gaussian(self, n: int, dimension: int) -> dict[str, object]:
        """Synthetic sets for FAD."""
        place = self.scratch / f"{n}-{dimension}-gaussian"
        if not place.exists():
            place.mkdir()
            rng = np.random.default_rng(0)
            for name in "xy":
                np.save(place / f"{name}.npy", rng.standard_normal((n, dimension)).astype("f4"))
        return {"x": str(place / "x.npy"), "y": str(place / "y.npy")}

    def run(self, contestant: str, problem: dict[str, object], **extra: object) -> dict | None:
        """The result of one process; ``None`` if the contestant is not installed or failed."""
        home, python, path = self.environments, sys.executable, str(HERE.parent / "src")
        if contestant in ("published", "pot", "geomloss"):
            python, path = str(home / "torch/bin/python"), str(home / "geomloss")
        elif contestant == "ott":
            python, path = str(home / "ott/bin/python"), ""
        if not Path(python).exists():
            return None
        options = {**problem, "published": str(home / "otadtk-0.1.2")}
        options |= {"threads": self.options.threads, "clock": self.options.clock, **extra}
        threads = str(options["threads"])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": threads}
        environment["MKL_NUM_THREADS"] = environment["OPENBLAS_NUM_THREADS"] = threads
        command = [python, str(HERE / "solver_worker.py"), contestant, json.dumps(options)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True,
                timeout=self.options.timeout,
            )  # fmt: skip
        except subprocess.SubprocessError as error:
            reason = getattr(error, "stderr", None) or str(error)
            print(f"  {contestant} {extra}: {str(reason).strip().splitlines()[-1]}", flush=True)
            return None
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        print(f"  {contestant} {extra}: {answer}", flush=True)
        return answer

    def duel(self, turns: int, problem: dict[str, object], contestants: list[tuple]) -> dict:
        """The median seconds and the last result of each contestant; they alternate."""
        seconds: dict[str, list[float]] = {}
        answers: dict[str, dict] = {}
        for _ in range(turns):
            for label, name, extra in contestants:
                if max(seconds.get(label, [0.0])) > LONG:
                    continue
                answer = self.run(name, problem, **extra)
                if answer is not None:
                    seconds.setdefault(label, []).extend(answer["seconds"])
                    answers[label] = answer
        return {
            label: {**answers[label], "median": statistics.median(times)}
            for label, times in seconds.items()
        }

    def row(self, *cells: object, met: bool | None) -> None:
        """One row of the table of a part; without a bar ``met`` is None."""
        says = "" if met is None else MET if met else MISSED
        self.rows.append((*map(str, cells), says))
        print("*", " | ".join(self.rows[-1]), flush=True)


def bars_of_gap(bench: Bench) -> None:
    bars = {"smooth": (1e-5, 1e-5), "middle": (1e-4, 1e-3), "sharp": (1e-4, 1e-3)}
    for regime in REGIMES:
        for n, bar in zip((5000, 10_000), bars[regime], strict=True):
            for dimension in DIMENSIONS:
                answer = bench.run("ours", bench.problem(n, dimension, regime))
                if answer is None:
                    bench.row(regime, f"{n:,}", dimension, *"–––––––", met=False)
                    continue
                bench.row(
                    regime, f"{n:,}", dimension, f"{answer['value']:.6g} ± {answer['error_bar']:.1g}",
                    f"{answer['gap']:.1e}", f"{bar:g}", f"{answer['marginal']:.1e}",
                    f"{answer['seconds'][0]:.2f} s", f"{answer['bytes'] / 1e9:.2f} GB",
                    met=answer["gap"] <= bar,
                )  # fmt: skip


def against_published(bench: Bench) -> None:
    contests = [
        *((2000, dimension, "smooth", 20) for dimension in DIMENSIONS),
        *((2000, dimension, "middle", 30) for dimension in DIMENSIONS),
        *((2000, dimension, "sharp", 20) for dimension in DIMENSIONS),
        (5000, 512, "smooth", 60),
    ]
    for n, dimension, regime, bar in contests:
        found = bench.duel(
            bench.options.turns if (n, dimension) == (2000, 512) else 1,
            bench.problem(n, dimension, regime),
            [("ours", "ours", {"repeat": 3}), ("published", "published", {})],
        )
        if "published" not in found:
            continue
        ours, there = found["ours"], found["published"]
        ratio = there["median"] / ours["median"]
        bench.row(
            regime, f"{n:,}", dimension, f"{ours['median']:.2f} s", f"{there['median']:.1f} s",
            f"{ratio:.0f}×", f"{bar}×", f"{there['marginal']:.1e}",
            met=ratio >= bar and ours["converged"],
        )  # fmt: skip


def against_libraries(bench: Bench) -> None:
    contestants = [
        ("ours", "ours_cross", {"repeat": 3}),
        ("ours, annealing alone", "ours_annealed", {"repeat": 3}),
        ("POT sinkhorn", "pot", {"method": "sinkhorn"}),
        ("POT sinkhorn_log", "pot", {"method": "sinkhorn_log"}),
        ("POT emd", "pot", {"method": "emd"}),
        ("OTT", "ott", {}),
        ("geomloss 0.5", "geomloss", {"scaling": 0.5}),
        ("geomloss 0.9", "geomloss", {"scaling": 0.9}),
    ]
    for regime in REGIMES:
        found = bench.duel(bench.options.turns, bench.problem(1000, 512, regime), contestants)
        whole, rough = found["ours"], found["ours, annealing alone"]
        for label, answer in found.items():
            seconds, error = answer["median"], answer["marginal"]
            # geomloss only anneals, like our first stage
            fair = label.startswith("geomloss") and rough["marginal"] <= error
            judged = not label.startswith("ours") and label != "POT emd" and error < 1.0
            bench.row(
                regime, label, f"{seconds:.3f} s", f"{seconds / whole['median']:.1f}×",
                f"{seconds / rough['median']:.1f}×" if fair and judged else "",
                f"{error:.1e}", f"{answer['cost']:.6g}",
                met=seconds > (rough if fair else whole)["median"] if judged else None,
            )  # fmt: skip


def growth(bench: Bench) -> None:
    for regime in REGIMES:
        points: list[tuple[float, float]] = []
        for n in (2000, 5000, 10_000, 20_000):
            answer = bench.run("ours", bench.problem(n, 512, regime), repeat=3 if n < 5000 else 1)
            if answer:
                points.append((float(n), statistics.median(answer["seconds"])))
        bench.curves[regime] = points
        if len(points) == 4 and answer:
            exponent = math.log(points[-1][1] / points[0][1]) / math.log(10.0)
            gigabytes = answer["bytes"] / 1e9
            bench.row(
                regime, *(f"{seconds:.2f}" for _, seconds in points), f"{exponent:.2f}",
                f"{gigabytes:.2f} GB", f"{answer['gap']:.1e}",
                met=exponent <= 2.1 and gigabytes <= 2,
            )  # fmt: skip


class Tiled(NamedTuple):
    """A problem that does not fit the memory, and its bar."""

    n: int
    dimension: int
    regime: str
    threads: int
    clock: str
    memory: int | None
    """Bytes that the solver is allowed; None: as many as it takes by default."""
    seconds: float
    gigabytes: float
    gap: float

    @property
    def title(self) -> str:
        """What names it to ``--tiled``."""
        return f"{self.regime}-{self.n}"


TILED = (
    Tiled(50_000, 128, "smooth", 1, "cpu", None, 409, 2, 1e-6),  # a quarter of 1,637 s
    Tiled(100_000, 1024, "smooth", 2, "wall", 3_000_000_000, 3600, 3, 1e-5),
    Tiled(50_000, 128, "middle", 1, "cpu", None, math.inf, 3, 1e-5),
    Tiled(50_000, 128, "sharp", 1, "cpu", None, math.inf, 3, 1e-5),
)


def streaming(bench: Bench) -> None:
    for problem in TILED:
        if bench.options.tiled and problem.title not in bench.options.tiled.split(","):
            continue
        answer = bench.run(
            "ours", bench.problem(problem.n, problem.dimension, problem.regime),
            threads=problem.threads, clock=problem.clock, max_memory=problem.memory,
        )  # fmt: skip
        if answer:
            tiled_row(bench, problem, answer)


def merged(kept: list[list[str]], new: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows of the table in its order, new ones instead of kept ones."""
    rows = {tuple(row[:3]): tuple(row) for row in [*kept, *new]}
    order = [(problem.regime, f"{problem.n:,}", str(problem.dimension)) for problem in TILED]
    return [rows[key] for key in order if key in rows]


def tiled_row(bench: Bench, problem: Tiled, answer: dict) -> None:
    took, gigabytes = answer["seconds"][0], answer["bytes"] / 1e9
    limit = f"{problem.seconds:.0f} s, " if problem.seconds < math.inf else ""
    bench.row(
        problem.regime, f"{problem.n:,}", problem.dimension,
        f"{problem.threads}, {CLOCKS[problem.clock]}", f"{took:.0f} s",
        f"{answer['sweeps']:g}" if answer["regime"] == "smooth" else "",
        f"{gigabytes:.2f} GB", f"{answer['gap']:.1e}",
        f"{answer['value']:.6g} ± {answer['error_bar']:.1g}",
        f"{limit}{problem.gigabytes:g} GB, gap {problem.gap:g}",
        met=took <= problem.seconds and gigabytes <= problem.gigabytes
        and answer["gap"] <= problem.gap and answer["converged"],
    )  # fmt: skip


def frechet(bench: Bench) -> None:
    frechet_of(bench, 500, 200)
    frechet_of(bench, 20_000, 5)
    # a second core speeds up the products, but hardly the square root
    frechet_of(bench, 20_000, 5, threads=2, clock="wall")


def frechet_of(bench: Bench, n: int, bar: int, **extra: object) -> None:
    contestants = [
        ("ours", "fad", {"method": "ours", "repeat": 9 if n == 500 else 3, **extra}),
        ("sqrtm", "fad", {"method": "sqrtm", **extra}),
    ]
    if n > 2048:  # else there is no covariance to compute
        contestants.append(("covariances", "fad", {"method": "covariances", "repeat": 3, **extra}))
    found = bench.duel(bench.options.turns, bench.gaussian(n, 2048), contestants)
    mine, theirs = found["ours"]["median"], found["sqrtm"]["median"]
    same = abs(found["sqrtm"]["value"] / found["ours"]["value"] - 1)
    alone = found["covariances"]["median"] if "covariances" in found else None
    clock = CLOCKS[str(extra.get("clock", bench.options.clock))]
    bench.row(
        f"{n:,}", f"{extra.get('threads', bench.options.threads)}, {clock}", f"{mine:.3f} s",
        f"{theirs / mine:.1f}×", f"{bar}×", f"{alone:.2f} s" if alone else "",
        f"{theirs / alone:.1f}×" if alone else "", f"{same:.0e}", met=theirs >= bar * mine,
    )  # fmt: skip


def kernel(bench: Bench) -> None:
    found = bench.duel(
        bench.options.turns, bench.problem(5000, 512, "smooth"),
        [
            ("ours", "kad", {"method": "ours", "repeat": 3}),
            ("there", "kad", {"method": "published"}),
        ],
    )  # fmt: skip
    if "there" in found:
        seconds, megabytes = found["ours"]["median"], found["ours"]["bytes"] / 1e6
        ratio = found["there"]["median"] / seconds
        bench.row(
            "5,000", f"{seconds:.2f} s", f"{ratio:.1f}×", f"{megabytes:.0f} MB",
            met=ratio >= 2 and megabytes <= 100,
        )  # fmt: skip


def large_offset(bench: Bench) -> None:
    answer = bench.run("offset", bench.problem(1000, 512, "smooth"))
    if answer:
        bench.row(f"{answer['apart']:.0e}", "1e-4", met=answer["apart"] <= 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("--peers", type=Path, default=peers.PLACE)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=3600)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument(
        "--tiled", default="", help="rows of the part streaming, as middle-50000,…; others are kept"
    )
    options = parser.parse_args()
    titles = [problem.title for problem in TILED]
    for title in filter(None, options.tiled.split(",")):
        if title not in titles:
            parser.error(f"--tiled has no row {title}; the rows are {', '.join(titles)}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    kept = options.output.with_suffix(".json")
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options, Path(scratch))
        for part in options.only.split(","):
            bench.rows, bench.curves = [], {}
            PARTS[part](bench)
            found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
            found["settings"] = settings(bench)
            if part == "streaming" and options.tiled:
                bench.rows = merged(found.get(part, {}).get("rows", []), bench.rows)
            found[part] = {"day": date.today().isoformat(), "rows": bench.rows}
            if bench.curves:
                found[part]["curves"] = bench.curves
            write_kept(kept, found)
            write_page(options.output, json.loads(kept.read_text(encoding="utf-8")))


PARTS = {
    "gap": bars_of_gap,
    "published": against_published,
    "libraries": against_libraries,
    "growth": growth,
    "streaming": streaming,
    "frechet": frechet,
    "kernel": kernel,
    "offset": large_offset,
}


ALONE = {"gap", "growth", "streaming"}
"""Parts in which no peer takes part."""


def settings(bench: Bench) -> dict[str, object]:
    """What the page says of all parts."""
    options = bench.options
    return {
        "data": options.data.name,
        "threads": options.threads,
        "clock": CLOCKS[options.clock],
        "turns": options.turns,
        "epsilon": EPSILON,
        "patches": len(bench.embeddings),
        "long": LONG,
    }


def write_kept(path: Path, found: dict[str, object]) -> None:
    """Write what was found, a line for each row."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    rows = re.sub(r"\[\s*([^\[\]{}]*?)\s*\]", lambda row: f"[{' '.join(row[1].split())}]", text)
    path.write_text(f"{rows}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
