"""The benchmarks follow the package: each of them imports, with all that it uses."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_every_benchmark_imports() -> None:
    names = sorted(path.stem for path in BENCHMARKS.glob("*.py"))
    assert "encoders_worker" in names
    command = [sys.executable, "-c", f"import {', '.join(names)}"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_soak_with_too_few_clips_to_measure_memory() -> None:
    code = (
        "from soak import _is_flat\n"
        "assert _is_flat([]) and _is_flat([5]) and _is_flat([100, 110])\n"
        "assert not _is_flat([100, 130])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("too short to be measured") == 2
