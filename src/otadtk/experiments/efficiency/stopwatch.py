"""Times one metric in a separate process.

``python -m otadtk.experiments.efficiency.stopwatch METRIC X.npy Y.npy EPSILON REPEATS``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

from otadtk.experiments.measures import measure

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_WARM = 64
"""Points of the warm-up run, which loads modules and starts thread pools."""


def _memory(field: str) -> int | None:
    """A field of /proc/self/status in bytes; ``None`` on systems without that file."""
    if not _STATUS.is_file():
        return None
    (line,) = (x for x in _STATUS.read_text().splitlines() if x.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def stopwatch(metric: str, x: Path, y: Path, epsilon: float, repeats: int) -> dict[str, float]:
    """Median CPU seconds on one thread, and the peak memory above that before the run."""
    torch.set_num_threads(1)
    reference, evaluated = np.load(x), np.load(y)
    measure(metric, reference[:_WARM], evaluated[:_WARM], epsilon)
    before = _memory("VmRSS")
    if before is not None:
        _RESET.write_text("5")  # resets the peak
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        value = measure(metric, reference, evaluated, epsilon)
        seconds.append(time.process_time() - started)
    found = {"value": value, "seconds": statistics.median(seconds)}
    peak = _memory("VmHWM")
    if before is not None and peak is not None:
        found["megabytes"] = (peak - before) / 1e6
    return found


if __name__ == "__main__":
    name, first, second, regularisation, times = sys.argv[1:]
    print(json.dumps(stopwatch(name, Path(first), Path(second), float(regularisation), int(times))))
