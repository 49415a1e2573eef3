"""The cost of +layers: CPU time of YAMNet with and without the statistics of its layers.

    python benchmarks/layers.py [--clips N]

Both run in turn on the same synthesised clips of 5 s with one thread. The ratio of the least CPU
times over the rounds is printed, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.encoders import Encoder, get_encoder

ROUNDS = 15


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=12)
    options = parser.parse_args()
    kinds = list(KINDS)
    clips = [
        torch.from_numpy(synthesise(kinds[i % len(kinds)], i, 5.0, 16_000))
        for i in range(options.clips)
    ]
    models = [get_encoder(name, "cpu") for name in ("yamnet", "yamnet+layers")]
    for model in models:
        seconds(model, clips)
    times = np.array([[seconds(model, clips) for model in models] for _ in range(ROUNDS)])
    plain, layered = times.min(axis=0)
    print(
        f"yamnet {plain:.3f} s, yamnet+layers {layered:.3f} s: {layered / plain:.3f} times as long"
    )


def seconds(model: Encoder, clips: list[torch.Tensor]) -> float:
    start = time.process_time()
    model.pool(model.encode_segments(clips))
    return time.process_time() - start


if __name__ == "__main__":
    main()
