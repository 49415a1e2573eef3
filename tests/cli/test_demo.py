"""``otadtk-demo``: synthesised folders, their score, and the detection of planted faults."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from otadtk import weights
from otadtk.cli import demo
from otadtk.statistics.ranking import auroc


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "demo"


def test_runs_the_main_job(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main([]) == 0
    out = capsys.readouterr().out
    assert "OTAD: " in out
    assert "AUROC of c_j: " in out
    assert "path/to/real" in out
    with (folder / "faults.csv").open(newline="") as file:
        faults = {row["file"]: row["fault"] for row in csv.DictReader(file)}
    with (folder / "cj.csv").open(newline="") as file:
        costs = {Path(row["file"]).name: float(row["cj"]) for row in csv.DictReader(file)}
    assert len(faults) >= 60
    assert set(faults.values()) == {"", *demo.FAULTS}
    names = list(costs)
    measured = auroc([bool(faults[n]) for n in names], [costs[n] for n in names])
    assert f"{measured:.3f}" in out
    assert measured > 0.9, "YAMNet finds most of the planted faults"


def test_the_next_command_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "my env" / "bin"
    place.mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", [str(place / "otadtk-demo")])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo._otadtk() == f"{sys.executable} -m otadtk"
    (place / "otadtk").touch(mode=0o755)
    assert demo._otadtk() == f"'{place}/otadtk'"
    monkeypatch.setenv("PATH", str(place))
    assert demo._otadtk() == "otadtk"


def test_sides_share_no_clip_and_runs_repeat(folder: Path) -> None:
    demo.write_clips(folder)
    hashes = {
        side: {weights.digest_of(file) for file in (folder / side).iterdir()}
        for side in ("reference", "evaluated")
    }
    assert not hashes["reference"] & hashes["evaluated"]
    assert len(hashes["reference"]) >= 60
    demo.write_clips(folder)
    again = {weights.digest_of(file) for file in (folder / "evaluated").iterdir()}
    assert again == hashes["evaluated"]


def test_leaves_other_folders_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    assert demo.main([str(folder)]) == 2
    assert "has other files in it" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]
