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

RATES = {"encodec": 24_000, "clap": 48_000, "openl3": 48_000, "panns": 32_000, "panns_wglm": 32_000}
Original = Callable[[Path], Any]
CONVOLUTIONAL = ("vggish", "encodec", "openl3", "panns", "panns_wglm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--originals", type=Path, required=True)
    parser.add_argument("--time", type=int, help="print the seconds for a clip of so many seconds")
    parser.add_argument("encoders", nargs="*")
    options = parser.parse_args()
    if options.time:
        for name in options.encoders:
            print(seconds_per_clip(name, options.originals, options.time))
        return
    for name in options.encoders or CASES:
        started = time.perf_counter()
        original = find_original(name)
        with torch.inference_mode():
            shapes, embed = original(options.originals)
            vectors = {
                f"{kind} {samples}": np.asarray(
                    embed(clip(kind, samples, RATES.get(name, 16_000))), dtype=np.float32
                )
                for kind, samples in CASES[name]
            }
        listing = json.dumps({key: list(shape) for key, shape in shapes.items()})
        np.savez_compressed(HERE / f"{name}.npz", shapes=np.array(listing), **vectors)
        size = (HERE / f"{name}.npz").stat().st_size
        print(f"{name}: {len(vectors)} clips, {size} bytes, {time.perf_counter() - started:.0f} s")
        for case, vector in vectors.items():
            print(f"  {case}: norm {np.linalg.norm(vector):.4g}, deviation {vector.std():.3g}")


def find_original(name: str, compare: bool = True) -> Original:
    family = "convolutional" if name in CONVOLUTIONAL else "transformer"
    module = importlib.import_module(f"originals_{family}")
    module.COMPARE_WITNESSES = compare
    return getattr(module, name)


def seconds_per_clip(name: str, originals: Path, seconds: int) -> float:
    """Processor seconds of the original for one clip with one thread, the least of three."""
    rate = RATES.get(name, 16_000)
    waveform = clip("voice", seconds * rate, rate)
    with torch.inference_mode():
        _, embed = find_original(name, compare=False)(originals)
        times = []
        for _ in range(3):
            started = time.process_time()
            embed(waveform)
            times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
