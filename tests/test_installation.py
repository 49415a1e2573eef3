"""Installing: no unasked gigabytes of CUDA, and no other package of the name ``otadtk`` by mistake."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import otadtk
import otadtk_audio

ROOT = Path(__file__).parents[1]
STUB = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  *find_spec*) exit 1 ;;
  *+cpu*) exit {cpu} ;;
  *list-models*) ;;
esac
"""


def set_up(folder: Path, *variables: str, cpu_build: bool) -> tuple[int, str, list[str]]:
    """(exit code, stderr, calls) of ``make setup`` with a Python that only writes down its calls."""
    if shutil.which("make") is None:
        pytest.skip("no make here")
    log, stub = folder / "log", folder / "python"
    stub.write_text(STUB.format(log=log, cpu=0 if cpu_build else 1))
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    command = ["make", "-s", "-C", str(ROOT), f"{folder}/venv/.installed", f"VENV={folder}/venv"]
    made = subprocess.run(
        [*command, f"PYTHON={stub}", *variables], capture_output=True, text=True, check=False
    )
    calls = [line for line in log.read_text().splitlines() if "pip install" in line]
    return made.returncode, made.stderr, calls


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch comes without CUDA")
def test_no_cuda_unasked(tmp_path: Path) -> None:
    code, errors, calls = set_up(tmp_path, cpu_build=False)
    assert code != 0
    assert "gigabytes of CUDA" in errors
    assert "TORCH_INDEX=" in errors
    assert "CUDA=1" in errors
    assert len(calls) == 1, "nothing else is downloaded"
    assert "+cpu" in calls[0]


@pytest.mark.parametrize(
    ("variables", "first"),
    [((), "torch==2.13.0+cpu"), (("TORCH_INDEX=there",), "--extra-index-url there")],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch comes without CUDA")
def test_cpu_build_comes_first(tmp_path: Path, variables: tuple[str, ...], first: str) -> None:
    code, _, calls = set_up(tmp_path, *variables, cpu_build=True)
    assert code == 0
    assert first in calls[0]
    assert calls[1].endswith("-e .[dev]")


def test_cuda_if_asked(tmp_path: Path) -> None:
    code, _, calls = set_up(tmp_path, "CUDA=1", cpu_build=False)
    assert code == 0
    assert len(calls) == 1
    assert calls[0].endswith("-e .[dev]")


def published(folder: Path) -> Path:
    """A folder where the paper's package is installed."""
    (folder / "otadtk").mkdir(parents=True)
    (folder / "otadtk" / "__init__.py").write_text('__version__ = "0.1.2"\n')
    (folder / "otadtk-0.1.2.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: otadtk\nVersion: 0.1.2\n"
    (folder / "otadtk-0.1.2.dist-info" / "METADATA").write_text(metadata)
    return folder


def start(*places: Path) -> subprocess.CompletedProcess[str]:
    """``otadtk-selftest --version``, as its script starts it, with these places on the path."""
    code = "import sys; from otadtk_audio import selftest; sys.exit(selftest())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    command = [sys.executable, "-c", code, "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_another_package_that_hides_this_one(tmp_path: Path) -> None:
    hidden = start(published(tmp_path), ROOT / "src")
    assert hidden.returncode == 2
    (line,) = hidden.stderr.splitlines()
    assert "otadtk 0.1.2 hides this otadtk: pip uninstall otadtk" in line


def test_another_package_beside_this_one(tmp_path: Path) -> None:
    both = start(ROOT / "src", published(tmp_path))
    assert both.returncode == 0
    assert otadtk.__version__ in both.stdout
    (line,) = both.stderr.splitlines()
    assert "otadtk 0.1.2, another package, is installed in the same place" in line


def test_alone(tmp_path: Path) -> None:
    alone = start(ROOT / "src")
    assert (alone.returncode, alone.stderr) == (0, "")


def test_every_script_starts_a_command() -> None:
    scripts = (ROOT / "pyproject.toml").read_text().split("[project.scripts]\n")[1].split("\n\n")[0]
    for line in scripts.splitlines():
        name, target = line.split(" = ")
        module, command = target.strip('"').split(":")
        assert module == "otadtk_audio"
        assert (ROOT / "src" / "otadtk" / "cli" / f"{command}.py").is_file(), name
    assert otadtk.DISTRIBUTION == otadtk_audio.DISTRIBUTION
