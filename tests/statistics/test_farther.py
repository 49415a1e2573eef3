"""Distances of clips from a reference, and the test whether those of one set are larger."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.statistics import farther
from otadtk.statistics.farther import p_farther, reference_distances


def squares_of(points: np.ndarray) -> farther.Squares:
    return lambda i, j: ((points[i][:, None] - points[j]) ** 2).sum(axis=-1)


def test_closed_forms() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(30, 4))
    found = reference_distances(squares_of(points), 20, 10)
    between = squares_of(points)(np.arange(20), np.arange(20, 30))
    assert np.all(between.min(axis=0) < found)
    assert np.all(found < between.mean(axis=0))
    # in another unit, far away, and of one clip alone
    assert reference_distances(squares_of(7.0 + 3.0 * points), 20, 10) == pytest.approx(9 * found)
    alone = np.concatenate([np.arange(20), [23]])
    assert reference_distances(squares_of(points[alone]), 20, 1) == pytest.approx(found[3:4])
    # copies of one clip as the reference, and one clip
    same = np.concatenate([np.zeros((5, 4)), points[20:]])
    for n in (5, 1):
        exact = (points[20:] ** 2).sum(axis=1)
        assert reference_distances(squares_of(same[5 - n :]), n, 10) == pytest.approx(exact)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(4).normal(size=(25, 3))
    whole = reference_distances(squares_of(points), 12, 13)
    monkeypatch.setattr(farther, "_MOST_PAIRS", 30)
    assert reference_distances(squares_of(points), 12, 13) == pytest.approx(whole)


def test_level_and_power() -> None:
    rng = np.random.default_rng(5)
    runs = [rng.normal(size=(2, 100)) for _ in range(300)]
    p = np.array([p_farther(before, after, seed=k) for k, (before, after) in enumerate(runs)])
    for level in (0.0125, 0.1, 0.5):  # binomial: four deviations
        assert abs(np.mean(p <= level) - level) < 4 * np.sqrt(level * (1 - level) / len(p))
    few = [p_farther(before, np.r_[after[10:], 4 + after[:10]]) for before, after in runs[:40]]
    assert np.mean(np.array(few) <= 0.0125) > 0.9
    assert p_farther(runs[0][0], runs[0][0] - 5) > 0.5  # nearer is not farther
    assert p_farther(np.ones(40), np.ones(40)) > 0.5  # nor is what is equal
