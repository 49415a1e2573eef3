"""The costs of single clips: ranking, detection, CSV."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from otadtk import OTAD, OTADDiagnostics
from otadtk.audio.clip_audit import ClipAudit
from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.metrics.diagnostics import NearestReference

COLUMNS = ["file", "cj", "cost", "relative_cost", "p", "q", "verdict", "flags"]


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
    assert rows[0] == COLUMNS
    assert rows[2][2:] == ["1.6", "1.33333333", "", "", "", "silent short"]


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


def test_relative_cost_is_one_for_a_typical_clip(diagnostics: OTADDiagnostics) -> None:
    assert diagnostics.relative_cost == pytest.approx(np.array([0.1, 0.4, 0.2, 0.4]) / 0.3)
    twins = OTADDiagnostics(0.0, np.array([0.0, 0.0, 2.0]), [Path("x")] * 3, "m", "raw", 0.1)
    assert twins.relative_cost.tolist() == [0.0, 0.0, np.inf]


@pytest.mark.parametrize("settings", [{"epsilon": 1.0}, {"epsilon": 0.001}, {"coupling": "exact"}])
def test_nearest_references_follow_the_plan(settings: dict[str, Any]) -> None:
    """Clip j is reference j moved a little, so that is where its mass comes from."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4)).astype(np.float32)
    otad = OTAD("logmel", **settings)
    diagnostics = otad.diagnose_embedded(embedded(x, "ref"), embedded(x + 0.05, "eval"))
    for j in (0, 7, -1):
        partners = diagnostics.nearest(j, k=30)
        shares = [partner.share for partner in partners]
        assert partners[0].file == diagnostics.reference_files[j]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1.0)
        assert len(diagnostics.nearest(j, k=2)) <= 2
    if "coupling" in settings:
        assert diagnostics.nearest(3) == [NearestReference(diagnostics.reference_files[3], 1.0)]
    assert diagnostics.reference_costs.sum() == pytest.approx(diagnostics.cj.sum())
    with pytest.raises(IndexError):
        diagnostics.nearest(30)


def test_what_has_no_plan_says_so(diagnostics: OTADDiagnostics) -> None:
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    sliced = OTAD("logmel", coupling="sliced").diagnose_embedded(
        embedded(x, "ref"), embedded(x + 1, "eval")
    )
    with pytest.raises(UsageError, match=r"sliced approximation.* no plan"):
        sliced.nearest(0)
    with pytest.raises(UsageError, match="no transport result"):
        diagnostics.nearest(0)


def test_dataframe(diagnostics: OTADDiagnostics, monkeypatch: pytest.MonkeyPatch) -> None:
    table = diagnostics.to_dataframe()
    assert list(table.columns) == COLUMNS
    assert table["cj"].tolist() == diagnostics.cj.tolist()
    assert table.loc[1, "flags"] == "silent short"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install \"otadtk-audio\[pandas\]\""):
        diagnostics.to_dataframe()


def embedded(vectors: np.ndarray, name: str) -> EmbeddingSet:
    files = tuple(Path(f"{name}/{i}.wav") for i in range(len(vectors)))
    audits = (ClipAudit(1.0, 16_000, 1, 0.5, 0.0),) * len(files)
    return EmbeddingSet(vectors, files, audits, ("",) * len(files), (), 0)
