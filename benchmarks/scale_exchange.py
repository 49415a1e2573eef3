"""Measures what it costs that processes exchange something: vectors of a sweep, or waveforms.

A part of scale.py. A sweep is one pass of Sinkhorn over all costs between N and N points, none of
which is kept, by one thread of this process and by two workers of Ray; at few points hardly anything
is left but the exchange. Waveforms of 5 s go from Ray's workers to this process, as they would to a
GPU if decoding were a task of its own; what the same tasks take without them is taken off.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scale import write_clips

from otadtk.audio import AudioReader
from otadtk.distances.cost import SquaredCost
from otadtk.distances.gibbs import GibbsKernel, Kernel
from otadtk.distances.spread import SpreadKernel
from otadtk.engine import RayEngine

DIMENSION, EPSILON = 128, 25.0
FEW, MANY = 500, 10_000
ROOM = 10**9
RATE, SECONDS, WAVEFORMS = 16_000, 5.0, 300


def exchange() -> dict[str, Any]:
    """Seconds of a sweep by every way, and of a waveform."""
    torch.set_num_threads(1)
    with RayEngine(num_actors=2) as ray:
        few, many = cost_of(FEW), cost_of(MANY)
        found: dict[str, Any] = {
            "few": sweep_seconds(SpreadKernel(ray, few, EPSILON, 0), 20),
            "here": sweep_seconds(GibbsKernel(many, EPSILON, 0), 3),
            "spread": sweep_seconds(SpreadKernel(ray, many, EPSILON, 0), 3),
            "kept": sweep_seconds(SpreadKernel(ray, many, EPSILON, ROOM), 3),
        }
        samples = int(RATE * SECONDS)
        numbers = list(range(WAVEFORMS))
        times = {
            length: seconds_of(lambda n=length: ray.map(lambda: Silence(n), numbers, title="clips"))
            for length in (samples, 1)
        }
    found["waveform"] = (times[samples] - times[1]) / WAVEFORMS
    found["waveform_bytes"] = 4 * samples
    with tempfile.TemporaryDirectory() as scratch:
        write_clips(Path(scratch, "clips"), 48, SECONDS, SECONDS)
        files = sorted(Path(scratch, "clips").iterdir())
        found["decoding"] = seconds_of(lambda: decode(files)) / len(files)
    return found


class Silence:
    """A task that gives so many samples."""

    def __init__(self, samples: int) -> None:
        self._samples = samples

    def __call__(self, number: int) -> np.ndarray:
        return np.full(self._samples, float(number), dtype=np.float32)


def cost_of(count: int) -> SquaredCost:
    """The cost between two clouds of so many points each."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(count, DIMENSION, generator=generator) for _ in range(2))
    return SquaredCost(x, y, torch.float32)


def sweep_seconds(kernel: Kernel, times: int) -> float:
    """The median time of a sweep, after the first, which builds what there is to build."""
    n, m = kernel.cost.shape
    a, v = torch.full((n,), 1.0 / n).double(), torch.ones(m).double()
    kernel.sweep(a, v)
    return statistics.median(seconds_of(lambda: kernel.sweep(a, v), 1) for _ in range(times))


def seconds_of(function: Callable[[], Any], times: int = 3) -> float:
    """The least time of a few calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        function()
        found.append(time.perf_counter() - began)
    return min(found)


def decode(files: list[Path]) -> None:
    """Read, audit and decode."""
    for file in files:
        reader = AudioReader(file, RATE)
        for _ in reader:
            pass
        assert reader.audit.seconds > 0


def told(found: dict[str, Any]) -> list[str]:
    """What was measured, as the document says it."""
    return [
        f"A sweep over {MANY:,} against {MANY:,} points, d = {DIMENSION}, of which nothing is kept: "
        f"{found['here']:.2f} s by one thread here, {found['spread']:.2f} s by two workers of Ray, "
        f"{found['kept']:.2f} s if they have room to keep it all. The exchange alone, at {FEW} points: "
        f"{1e3 * found['few']:.0f} ms a sweep.",
        "",
        f"A clip of {SECONDS:g} s, a wav file at {RATE / 1000:g} kHz: to read, audit and decode it takes "
        f"{1e3 * found['decoding']:.2f} ms; to send its {found['waveform_bytes'] / 1e3:.0f} kB of "
        f"waveform to another process of the same machine {1e3 * found['waveform']:.2f} ms.",
    ]
