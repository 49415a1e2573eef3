"""Measures embedding: cold clips/s and memory with one and two workers, and a warm score.

    python benchmarks/embedding.py FOLDER [--model yamnet] [--repeat 1]
    python benchmarks/embedding.py FOLDER --network [--clips 96] [--repeat 7]

FOLDER may be ESC-50 in its official layout: then the classes are checked too.

Every measurement is a fresh process with an empty cache. Runs with one and two workers alternate;
compare the ratio of their medians between machines.

``--network`` compares the embedding by ``yamnet`` with its bare network: the same patches, computed
before, go through the network alone, on as many threads as there are workers. Both alternate in one
process, so neither start nor weights count. The embedding hashes, decodes, resamples and audits every
file, makes the patches, runs the network, pools and writes to an empty store.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from otadtk import OTAD
from otadtk.audio.decode import AudioReader
from otadtk.audio.find import find_audio
from otadtk.embed import LazyEncoder
from otadtk.embed.audio_pass import AudioPass
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.encoders.blocks.batching import in_fixed_batches
from otadtk.encoders.networks.yamnet import network as yamnet
from otadtk.encoders.pooling import split
from otadtk.engine import LocalEngine


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="yamnet")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--network", action="store_true", help="compare yamnet with its network")
    parser.add_argument("--clips", type=int, default=96, help="how many clips --network takes")
    options = parser.parse_args()
    clips = find_audio(options.folder)
    if options.network:
        against_the_network(clips[:: max(1, len(clips) // options.clips)], options.repeat)
        return
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


def against_the_network(clips: Sequence[Path], turns: int) -> None:
    """The speed of embedding by YAMNet, relative to its network alone on the same patches."""
    torch.set_num_threads(1)
    gc.set_threshold(20_000)  # as the commands do
    lazy = LazyEncoder(get_spec("yamnet"), "cpu")
    encoder, at_once = lazy.get(), yamnet._PATCHES_AT_ONCE
    with torch.inference_mode():
        segments = [torch.from_numpy(s.copy()) for c in clips for s in split(read(c), lazy.spec)]
        patches = torch.cat([yamnet._patches(w) for w in encoder._padded(segments)])

    def alone(part: torch.Tensor) -> None:
        torch.set_num_threads(1)  # of this thread
        with torch.inference_mode():
            in_fixed_batches(encoder._network, part, at_once)

    def network(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            batches = -(-len(patches) // (workers * at_once))  # of one size, for each worker
            list(pool.map(alone, patches.split(batches * at_once)))

    def embedding(workers: int) -> None:
        with tempfile.TemporaryDirectory() as place:
            work = AudioPass((lazy,), EmbeddingStore(Path(place)), LocalEngine(workers))
            work.fill_store(list(clips))

    print(f"{len(clips)} clips, {len(patches)} patches, medians of {turns} turns\n")
    print("| workers | clock | network, ms a clip | embedding, ms a clip | speed of the network |")
    print("|---|---|---|---|---|")
    for workers in (1, 2):
        found = [(spent(network, workers), spent(embedding, workers)) for _ in range(turns + 1)]
        clocks = np.array(found[1:]) * 1e3 / len(clips)  # the first turn warms up
        for k, clock in enumerate(("processor", "wall")):
            bare, whole = np.median(clocks[:, :, k], axis=0)
            share = float(np.median(clocks[:, 0, k] / clocks[:, 1, k]))
            print(f"| {workers} | {clock} | {bare:.1f} | {whole:.1f} | {100 * share:.0f} % |")


def read(clip: Path) -> list[np.ndarray]:
    """The blocks of a clip at the rate of YAMNet."""
    return list(AudioReader(clip, 16_000))


def spent(work: Callable[[int], None], workers: int) -> tuple[float, float]:
    """(processor seconds, seconds by the clock) of the work."""
    processor, wall = time.process_time(), time.perf_counter()
    work(workers)
    return time.process_time() - processor, time.perf_counter() - wall


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
