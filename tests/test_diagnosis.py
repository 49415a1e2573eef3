"""The costs of single clips: ranking, detection, CSV."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from otadtk import OTADDiagnostics
from otadtk.errors import UsageError


@pytest.fixture
def diagnostics() -> OTADDiagnostics:
    names = ["a.wav", 'comma, and "quotes".wav', "new\nline.wav", "ü.wav"]
    return OTADDiagnostics(
        score=1.0,
        cj=np.array([0.1, 0.4, 0.2, 0.4]),
        files=[Path(name) for name in names],
        model_name="logmel",
        variant="raw",
        epsilon=0.1,
        flags=[(), ("silent", "short"), (), ()],
    )


def test_top_k(diagnostics: OTADDiagnostics) -> None:
    assert [cost for _, cost in diagnostics.top_k(2)] == [0.4, 0.4]
    assert diagnostics.top_k(1, ascending=True) == [(Path("a.wav"), 0.1)]
    assert len(diagnostics.top_k(99)) == 4


def test_detection(diagnostics: OTADDiagnostics) -> None:
    mask = [False, True, False, True]
    assert diagnostics.auroc(mask) == 1.0
    assert diagnostics.separation_ratio(mask) == pytest.approx(0.4 / 0.15)
    with pytest.raises(UsageError, match="3 entries for 4"):
        diagnostics.auroc(mask[:3])


def test_csv_keeps_awkward_names(diagnostics: OTADDiagnostics, tmp_path: Path) -> None:
    path = diagnostics.to_csv(tmp_path / "new" / "folder" / "cj.csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == ["file", "cj"]
    assert [row[0] for row in rows[1:]] == [str(file) for file in diagnostics.files]
    assert [float(row[1]) for row in rows[1:]] == diagnostics.cj.tolist()
    assert rows[2][2] == "silent short"


def test_csv_sorted(diagnostics: OTADDiagnostics, tmp_path: Path) -> None:
    with diagnostics.to_csv(tmp_path / "cj.csv", ascending=True).open(newline="") as file:
        costs = [float(row["cj"]) for row in csv.DictReader(file)]
    assert costs == sorted(costs)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.wav")
    diagnostics = OTADDiagnostics(0.0, np.array([1.0]), [Path(name)], "m", "raw", 0.1)
    assert b"caf\xe9.wav,1" in diagnostics.to_csv(tmp_path / "cj.csv").read_bytes()


def test_failed_write_keeps_the_old_file(
    diagnostics: OTADDiagnostics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "cj.csv"
    target.write_text("old")

    def fail(self: Path, other: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        diagnostics.to_csv(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
