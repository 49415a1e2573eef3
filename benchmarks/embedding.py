"""Measures embedding: cold clips/s and memory with one and two workers, and a warm score.

    python benchmarks/embedding.py FOLDER [--model yamnet] [--repeat 1]

FOLDER may be ESC-50 in its official layout: then the classes are checked too.

Every measurement is a fresh process with an empty cache. Runs with one and two workers alternate;
compare the ratio of their medians between machines.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from otadtk import OTAD
from otadtk.audio.find import find_audio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="yamnet")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    clips = find_audio(options.folder)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        halves = [place / "first", place / "second"]
        for number, clip in enumerate(clips):
            half = halves[number % 2]
            half.mkdir(exist_ok=True)
            (half / f"{number:06d}{clip.suffix}").symlink_to(clip.resolve())
        cold: dict[int, list[float]] = {1: [], 2: []}
        memory: dict[int, float] = {}
        for turn in range(options.repeat):
            for workers in (1, 2):
                cache = place / f"cache-{turn}-{workers}"
                command = ["otadtk.cli.embeds", "-m", options.model, "-d", *map(str, halves)]
                seconds, peak = measure(*command, f"--workers={workers}", f"--cache-dir={cache}")
                cold[workers].append(seconds)
                memory[workers] = max(peak, memory.get(workers, 0.0))
        warm = [
            measure("otadtk", options.model, *map(str, halves), "--fad", f"--cache-dir={cache}")[0]
            for _ in range(3)
        ]
    print(f"{len(clips)} clips, {options.model}, each figure a whole process\n")
    print("| | seconds | clips/s | peak memory |\n|---|---|---|---|")
    for workers, seconds in cold.items():
        median = statistics.median(seconds)
        rate, peak = len(clips) / median, memory[workers]
        print(f"| cold, {workers} worker(s) | {median:.1f} | {rate:.1f} | {peak:.2f} GB |")
    print(f"| warm, `--fad` of the two halves | {statistics.median(warm):.1f} | | |")
    one, two = (statistics.median(cold[workers]) for workers in (1, 2))
    print(f"\ntwo workers against one: {one / two:.2f} times as fast")
    print(f"warm score against cold embedding: {two / statistics.median(warm):.1f} times as fast")
    labels = options.folder / "meta" / "esc50.csv"
    if labels.is_file():
        accuracy = nearest_neighbour_accuracy(options.model, options.folder, labels)
        print(f"ESC-50, cosine 1-NN within a fold, mean of the five folds: {accuracy:.4f}")


def nearest_neighbour_accuracy(model: str, folder: Path, labels: Path) -> float:
    """The share of clips whose nearest clip of the same fold has their class."""
    with labels.open(newline="") as file:
        facts = {row["filename"]: (row["fold"], row["category"]) for row in csv.DictReader(file)}
    embedded = OTAD(model).embed(folder)
    folds, classes = np.array([facts[path.name] for path in embedded.files]).T
    directions = embedded.vectors / np.linalg.norm(embedded.vectors, axis=1, keepdims=True)
    shares = []
    for fold in np.unique(folds):
        inside = folds == fold
        similarity = directions[inside] @ directions[inside].T
        np.fill_diagonal(similarity, -np.inf)
        shares.append(np.mean(classes[inside][similarity.argmax(axis=1)] == classes[inside]))
    return float(np.mean(shares))


def measure(module: str, *arguments: str) -> tuple[float, float]:
    """(seconds, peak GB) of ``python -m module arguments``."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", module, "--quiet", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{module} failed with status {status}")
    return time.perf_counter() - started, usage.ru_maxrss / 1e6


if __name__ == "__main__":
    main()
