"""Write the reference embeddings: run each original on seeded clips with seeded weights."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import CASES  # noqa: E402
from seeded import clip  # noqa: E402

RATES = {"encodec": 24_000, "clap": 48_000, "openl3": 48_000, "panns": 32_000, "panns_wglm": 32_000}
CONVOLUTIONAL = ("vggish", "encodec", "openl3", "panns", "panns_wglm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--originals", type=Path, required=True)
    parser.add_argument("encoders", nargs="*")
    options = parser.parse_args()
    for name in options.encoders or CASES:
        started = time.perf_counter()
        family = "convolutional" if name in CONVOLUTIONAL else "transformer"
        original = getattr(importlib.import_module(f"originals_{family}"), name)
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


if __name__ == "__main__":
    main()
