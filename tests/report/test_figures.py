"""Figures for papers."""

from __future__ import annotations

from pathlib import Path

from otadtk.report.content import ReportOptions, gather_content
from otadtk.report.figures import write_figures
from otadtk.statistics.resampling import Limit
from tests.report.conftest import Scored


def test_figures_are_written_and_repeatable(scored: Scored, tmp_path: Path) -> None:
    limit = Limit(0.01, 1.0, 0.9, (10, 20, 30), (0.3, 0.2, 0.1), 0)
    options = ReportOptions(audio="none", labels=scored.labels, limit=limit)
    content = gather_content(scored.diagnostics, options)
    written = write_figures(content, tmp_path / "first")
    kinds = ("histogram", "map", "strip", "roc", "convergence")
    assert {p.name for p in written} == {f"{k}.{s}" for k in kinds for s in ("svg", "png")}
    for path in write_figures(content, tmp_path / "again"):
        assert path.read_bytes() == (tmp_path / "first" / path.name).read_bytes()
