"""How well costs find known bad clips: small cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.report.detection import detection


def test_detection_by_hand() -> None:
    costs = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    found = detection(costs, ("click", "", "noise", "", ""))
    assert found.auroc == pytest.approx(5 / 6)
    assert found.separation_ratio == pytest.approx(4.0 / (7 / 3))
    assert (found.cut, found.precision) == (2, 0.5)
    assert [(k.kind, k.auroc, k.found, k.precision) for k in found.kinds] == [
        ("click", 1.0, 1, 0.5),
        ("noise", pytest.approx(2 / 3), 0, 0.0),
    ]
    false, true = np.array(found.roc).T
    assert found.roc[0] == (0.0, 0.0)
    assert found.roc[-1] == (1.0, 1.0)
    assert np.trapezoid(true, false) == pytest.approx(found.auroc)


def test_ties_make_a_slanted_roc() -> None:
    found = detection(np.ones(4), ("x", "", "x", ""))
    assert found.roc == ((0.0, 0.0), (1.0, 1.0))
    assert found.auroc == 0.5
    assert detection(np.array([1.0, 0.0]), ("x", "")).separation_ratio is None
