"""The list of files stays small for millions of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MEASURE = """
import gc, sys, tracemalloc
from pathlib import Path
from otadtk.embed.audio_files import AudioFiles
from otadtk.engine.ray.batches import Queue

def plan(folder):
    queue = Queue(AudioFiles(folder, recursive=True), 64)
    seen = 0
    while queue:
        seen += len(queue.take().items)
    return seen

plan(Path(sys.argv[1]) / "000")  # what is imported or cached on first use is not counted
gc.collect()
tracemalloc.start()
seen = plan(Path(sys.argv[1]))
print(seen, tracemalloc.get_traced_memory()[1])
"""


def test_planning_holds_names_only(tmp_path: Path) -> None:
    """5,000 files: less than 400 bytes a file at the peak, so that a million take 0.4 GB.

    In a process of its own: threads of other tests would be counted too.
    """
    for folder in range(5):
        (tmp_path / f"{folder:03d}").mkdir()
        for number in range(1000):
            (tmp_path / f"{folder:03d}" / f"clip-{number:05d}.wav").touch()
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    seen, peak = (int(number) for number in run.stdout.split())
    assert seen == 5000
    assert peak < 400 * 5000
