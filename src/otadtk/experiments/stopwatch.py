"""Times one metric in a process of its own: ``python -m otadtk.experiments.stopwatch METRIC X Y``."""

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
"""Points of the run before the clock: imports, thread pools."""


def _memory(field: str) -> int | None:
    """A line of the process's status in bytes; ``None`` where the system has no such file."""
    if not _STATUS.is_file():
        return None
    (line,) = (x for x in _STATUS.read_text().splitlines() if x.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def stopwatch(metric: str, x: Path, y: Path, epsilon: float, repeats: int) -> dict[str, float]:
    """Median CPU seconds of one thread, and the peak memory above what the process had before."""
    torch.set_num_threads(1)
    reference, evaluated = np.load(x), np.load(y)
    measure(metric, reference[:_WARM], evaluated[:_WARM], epsilon)
    before = _memory("VmRSS")
    if before is not None:
        _RESET.write_text("5")  # the peak starts anew
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
