"""Is this version of the solver slower or larger than another one? Interleaved runs of both.

    git worktree add ../before COMMIT
    python benchmarks/against.py ../before/src --output against.md

Each version runs in a process of its own on one thread, and both on the same core: on a busy machine
two cores differ by a quarter. For every problem the two take turns, and the median processor times
are compared: what else the machine does meets both alike. The peak memory above the inputs is that of
a fresh process. The points have equal norms and a spectrum that decays like an encoder's.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "src"
NORMS = {"smooth": 1.0, "middle": 4.0, "sharp": 20.0}
DIMENSIONS = 512
ALLOWED = 1.05
NOTHING = 1_000_000
"""Bytes by which two runs of one version differ: pages of libraries, holes in the heap."""
FLOORS, PERMUTATIONS = (72, 500), 200


def points(n: int, norm: float, dimensions: int = DIMENSIONS) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of n points of that norm."""
    rng = np.random.default_rng(0)
    scales = np.arange(1, dimensions + 1) ** -0.7
    sides = [(rng.normal(size=(n, dimensions)) + shift) * scales for shift in (0.0, 0.1)]
    sides = [norm * side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    return sides[0].astype(np.float32), sides[1].astype(np.float32)


def work() -> None:
    """Answers problems from standard input, one line each, with one line of JSON."""
    import torch

    from otadtk import compute_fad, compute_kad, compute_otad

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)  # that ε is small is known here
    metrics = {"otad": compute_otad, "fad": compute_fad, "kad": compute_kad}
    small = points(200, 4.0)  # more than are solved without scipy
    for metric in metrics.values():
        metric(*small)  # imports, thread pools
    for norm in NORMS.values():
        floor(40, norm, 20)()
    for line in sys.stdin:
        problem = json.loads(line)
        if problem["metric"] == "floor":
            run = floor(problem["n"], problem["norm"])
        else:
            run = partial(metrics[problem["metric"]], *points(problem["n"], problem["norm"]))
        before = reset_peak()
        started = time.process_time()
        value = run()
        seconds = time.process_time() - started
        answer = {"value": value, "seconds": seconds, "bytes": max(0, peak() - before)}
        print(json.dumps(answer), flush=True)


def floor(clips: int, norm: float, permutations: int = PERMUTATIONS) -> Any:
    """The mean of permutations of two sets, as a floor computes them."""
    from otadtk.distances.subsets import transport_between

    try:
        from otadtk.distances.transport.couplings import TransportSettings
    except ImportError:  # versions before the rooms
        from otadtk.distances.transport import TransportSettings

    pool = np.concatenate(points(clips, norm))
    rng = np.random.default_rng(0)
    orders = [rng.permutation(2 * clips) for _ in range(permutations)]
    draws = [(order[:clips], order[clips:]) for order in orders]

    def run() -> float:
        distance = transport_between(pool, TransportSettings())
        if not hasattr(distance, "many"):
            return float(np.mean([distance(*draw) for draw in draws]))
        size: int = distance.at_once  # type: ignore[attr-defined]
        parts = [draws[start : start + size] for start in range(0, len(draws), size)]
        return float(np.mean(np.concatenate([distance.many(part) for part in parts])))  # type: ignore[attr-defined]

    return run


def reset_peak() -> int:
    """Bytes of this process in memory, from which its peak is counted anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def peak() -> int:
    return status("VmHWM")


def status(field: str) -> int:
    table = Path("/proc/self/status").read_text()
    return 1024 * int(table.partition(f"{field}:")[2].split()[0])


class Version:
    """A process that runs one version."""

    def __init__(self, source: Path, *, exact_memory: bool = False) -> None:
        threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if exact_memory:  # what is freed goes back at once, and the peak is the same in every run
            threads |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "PYTHONPATH": str(source)},
        )

    def run(self, problem: dict[str, Any]) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(problem) + "\n")
        self._process.stdin.flush()
        answer: dict[str, float] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def memory(source: Path, problem: dict[str, Any]) -> float:
    """The peak above the inputs in a fresh process."""
    version = Version(source, exact_memory=True)
    needed = version.run(problem)["bytes"]
    version.close()
    return needed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=Path, nargs="?", help="src/ of the other version")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", default="", help="problems with this in their title")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    if options.base is None:
        parser.error("the src/ of the other version is missing")
    problems = [
        (f"OTAD, {regime}, N = {n}", {"metric": "otad", "n": n, "norm": norm})
        for n in options.sizes
        for regime, norm in NORMS.items()
    ]
    largest = max(options.sizes)
    problems += [
        (f"{name.upper()}, N = {largest}", {"metric": name, "n": largest, "norm": 4.0})
        for name in ("fad", "kad")
    ]
    problems += [
        (
            f"{PERMUTATIONS} permutations, {regime}, N = {n}",
            {"metric": "floor", "n": n, "norm": norm},
        )
        for n in FLOORS
        for regime, norm in NORMS.items()
    ]
    problems = [problem for problem in problems if options.only in problem[0]]
    sources = options.base.resolve(), HERE
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    versions = [Version(source) for source in sources]
    lines = [
        "| problem | base | this | time | base | this | memory | values apart |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n", flush=True)
    slower = []
    for title, problem in problems:
        found: list[list[dict[str, float]]] = [[], []]
        for turn in range(options.repeat + 1):
            for which in (0, 1) if turn % 2 else (1, 0):
                answer = versions[which].run(problem)
                if turn > 0:  # the first is to warm up
                    found[which].append(answer)
        seconds = [statistics.median(answer["seconds"] for answer in answers) for answers in found]
        sizes = [memory(source, problem) for source in sources]
        apart = abs(found[1][0]["value"] / found[0][0]["value"] - 1.0)
        time_ratio, memory_ratio = seconds[1] / seconds[0], sizes[1] / max(sizes[0], 1.0)
        lines.append(
            f"| {title} | {seconds[0]:.3f} s | {seconds[1]:.3f} s | {time_ratio:.2f} | "
            f"{sizes[0] / 1e6:.1f} MB | {sizes[1] / 1e6:.1f} MB | {memory_ratio:.2f} | {apart:.0e} |"
        )
        print(lines[-1], flush=True)
        larger = sizes[1] - sizes[0] > max(NOTHING, (ALLOWED - 1.0) * sizes[0])
        if time_ratio > ALLOWED or larger:
            slower.append(title)
    for version in versions:
        version.close()
    verdict = f"Slower or larger by more than 5 %: {', '.join(slower) or 'none'}."
    print(f"\n{verdict}")
    if options.output is not None:
        options.output.write_text("\n".join([*lines, "", verdict]) + "\n")


if __name__ == "__main__":
    main()
