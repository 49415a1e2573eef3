"""The contrast of single clips: fitted without the clip, the same whichever side it is on."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.metrics.verdicts import squares_between
from otadtk.statistics import judging
from otadtk.statistics.contrasts import swapped_contrasts
from otadtk.statistics.judging import judge_clips
from otadtk.statistics.prices import FloatArray, typical


def squares_of(points: FloatArray) -> FloatArray:
    everyone = np.arange(len(points))
    return squares_between(points)(everyone, everyone)


def test_a_contrast_is_the_fit_without_the_clip(rng: np.random.Generator) -> None:
    n, m = 9, 6
    squares = squares_of(rng.normal(size=(n + m, 3)))
    found = swapped_contrasts(squares, n)
    kernel = np.exp(-squares / (2.0 * typical(squares)))
    np.fill_diagonal(kernel, 1.0)
    j = 2  # joins the reference
    mean = (m - 1) / (n + m)
    labels = np.repeat([0.0, 1.0], [n, m]) - mean
    labels[n + j] = -mean
    for i in (0, n + j, n + 4):
        others = np.delete(np.arange(n + m), i)
        fit = np.linalg.solve(
            kernel[np.ix_(others, others)] + 3.0 * np.eye(n + m - 1), labels[others]
        )
        expected = float(kernel[i, others] @ fit)
        value = (
            found.reference[i, j] if i < n else found.own[j] if i == n + j else found.others[4, j]
        )
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_clip_has_the_same_contrast_on_either_side(rng: np.random.Generator) -> None:
    n, points = 20, rng.normal(size=(32, 4))
    i, j = 5, 3
    exchanged = points.copy()
    exchanged[[i, n + j]] = points[[n + j, i]]
    before, after = (swapped_contrasts(squares_of(side), n) for side in (points, exchanged))
    assert after.own[j] == pytest.approx(before.reference[i, j], abs=1e-12)
    assert after.reference[i, j] == pytest.approx(before.own[j], abs=1e-12)
    np.testing.assert_allclose(np.delete(after.others[:, j], j), np.delete(before.others[:, j], j))


def test_a_crowd_is_found_among_odd_reference_clips(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = rng.normal(size=(560, 4))
    points[:9, 1] += 9.0  # odd reference clips, but not of the kind of the bad ones
    points[400:415, 0] += 5.0
    squares = squares_between(points)
    found = judge_clips(squares, 400, 160)
    assert found.bad[:15].mean() >= 0.8
    assert found.bad[15:].sum() <= 4
    with monkeypatch.context() as by_price:
        by_price.setattr(judging, "_CROWD", 1000)
        assert judge_clips(squares, 400, 160).bad[:15].mean() <= 0.5
