"""Write the reference embeddings: run each original on seeded clips with seeded weights."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import CASES  # noqa: E402
from seeded import clip  # noqa: E402

RATES = {
    "encodec": 24_000,
    "clap": 48_000,
    "clap_fused": 48_000,
    "openl3": 48_000,
    "panns": 32_000,
    "panns_wglm": 32_000,
    "cdpam": 22_050,
    "cdpam_content": 22_050,
    "passt": 32_000,
}
Original = Callable[[Path], Any]
PACKAGED = ("whisper", "musicnn", "ecapa", "cdpam", "cdpam_content")
"""Encoders whose published weights are at hand: they can be compared with these too."""
CONVOLUTIONAL = ("vggish", "encodec", "openl3", "panns", "panns_16k", "panns_wglm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--originals", type=Path, required=True)
    parser.add_argument("--time", type=int, help="measure the time for clips of so many seconds")
    parser.add_argument("--weights", type=Path, help="a folder of published weights to use")
    parser.add_argument("--recordings", type=Path, nargs="*", default=[], help="more clips")
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("encoders", nargs="*")
    options = parser.parse_args()
    if options.time:
        take_turns(options.encoders[0], options.originals, options.time)
        return
    for name in options.encoders or CASES:
        started = time.perf_counter()
        original = find_original(name, weights=options.weights)
        with torch.inference_mode():
            shapes, embed = original(options.originals)
            vectors = {
                f"{kind} {samples}": np.asarray(
                    embed(clip(kind, samples, RATES.get(name, 16_000))), dtype=np.float32
                )
                for kind, samples in CASES[name]
            }
            for path in options.recordings:
                vectors[path.name] = embed(recording(path, RATES.get(name, 16_000)))
        listing = json.dumps({key: list(shape) for key, shape in shapes.items()})
        target = options.output / f"{name}.npz"
        np.savez_compressed(target, shapes=np.array(listing), **vectors)
        size = target.stat().st_size
        print(f"{name}: {len(vectors)} clips, {size} bytes, {time.perf_counter() - started:.0f} s")
        for case, vector in vectors.items():
            print(f"  {case}: norm {np.linalg.norm(vector):.4g}, deviation {vector.std():.3g}")


def recording(path: Path, rate: int) -> np.ndarray:
    """A recording as otadtk hears it: mono, resampled by soxr."""
    import soundfile
    import soxr

    samples, own = soundfile.read(path, dtype="float32", always_2d=True)
    return soxr.resample(samples.mean(axis=1), own, rate, quality="HQ")


def find_original(name: str, compare: bool = True, weights: Path | None = None) -> Original:
    family = "convolutional" if name in CONVOLUTIONAL else "transformer"
    family = "packaged" if name in (*PACKAGED, "passt") else family
    module = importlib.import_module(f"originals_{family}")
    module.COMPARE_WITNESSES = compare
    module.WEIGHTS = weights
    return getattr(module, name)


def take_turns(name: str, originals: Path, seconds: int) -> None:
    """For each number of threads on stdin, seconds a clip by the clock and by the processor."""
    rate = RATES.get(name, 16_000)
    waveform = clip("voice", seconds * rate, rate)
    with torch.inference_mode():
        _, embed = find_original(name, compare=False)(originals)
        embed(waveform)
        started = time.process_time()
        embed(waveform)
        clips = min(max(1, round(3.0 / (time.process_time() - started))), 12)
        print("ready", flush=True)
        for line in sys.stdin:
            torch.set_num_threads(int(line))
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(clips):
                embed(waveform)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(json.dumps({"wall": wall / clips, "cpu": cpu / clips}), flush=True)


if __name__ == "__main__":
    main()
