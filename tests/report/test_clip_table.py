"""The table of clips: relative costs and the map."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.report.clips.table import project, relative_costs
from otadtk.report.content import ReportOptions, gather_content
from tests.report.conftest import Scored


def test_the_map_is_the_principal_plane(scored: Scored) -> None:
    content = gather_content(scored.diagnostics, ReportOptions(audio="none"))
    coordinates, explained = project(content.table.reference.points, content.table.evaluated.points)
    points = np.concatenate([content.table.reference.points, content.table.evaluated.points])
    variances = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    assert explained == pytest.approx(variances[:2] / variances.sum(), rel=1e-4)
    assert np.square(coordinates).sum(axis=1) == pytest.approx(variances[:2], rel=1e-2)


def test_costs_are_relative_to_the_median_or_else_the_mean() -> None:
    relative, typical = relative_costs(np.array([1.0, 2.0, 6.0]))
    assert (relative.tolist(), typical) == ([0.5, 1.0, 3.0], "median")
    relative, typical = relative_costs(np.array([0.0, 0.0, 3.0]))
    assert (relative.tolist(), typical) == ([0.0, 0.0, 3.0], "mean")
    assert relative_costs(np.zeros(3))[0].tolist() == [0.0, 0.0, 0.0]
