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
