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


def test_written_pages_are_those_of_their_figures(tmp_path: Path) -> None:
    code = (
        "import json, sys; from pathlib import Path\n"
        "import calibrate_faults, solver_page\n"
        "kept = solver_page.PAGE.with_suffix('.json').read_text('utf-8')\n"
        "made = Path(sys.argv[1]) / 'benchmarks.md'\n"
        "solver_page.write_page(made, json.loads(kept))\n"
        "assert made.read_text('utf-8') == solver_page.PAGE.read_text('utf-8')\n"
        "assert calibrate_faults.page() == calibrate_faults.PAGE.read_text('utf-8')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
