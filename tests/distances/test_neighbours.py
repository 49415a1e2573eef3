"""Nearest neighbours against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.distances.neighbours import nearest_within, usual_nearest_distance


@pytest.mark.parametrize("direct", [0, 1 << 18])
def test_nearest_within_equals_all_pairs(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, direct: int
) -> None:
    monkeypatch.setattr("otadtk.distances.neighbours._FEW_PAIRS", direct)
    x = rng.normal(size=(300, 40)).astype(np.float32)
    y = np.concatenate([x[:20] + 0.01 * rng.normal(size=(20, 40)), rng.normal(size=(50, 40))])
    y = y.astype(np.float32)
    distances = np.linalg.norm(y[:, None] - x[None], axis=2)
    usual = usual_nearest_distance(x)
    within = np.linalg.norm(x[:, None] - x[None], axis=2) + np.diag(np.full(300, np.inf))
    assert usual == pytest.approx(float(np.median(within.min(axis=1))), rel=1e-3)
    found = {j: (i, d) for j, i, d in nearest_within(x, y, 0.15 * usual)}
    assert set(found) == set(np.flatnonzero(distances.min(axis=1) < 0.15 * usual))
    for j, (i, distance) in found.items():
        assert i == distances[j].argmin()
        assert distance == pytest.approx(distances[j].min(), rel=1e-3)


@pytest.mark.parametrize("scale", [1e-30, 1e18])
def test_numbers_whose_squares_leave_float32(rng: np.random.Generator, scale: float) -> None:
    x, y = (rng.normal(size=(50, 8)).astype(np.float32) for _ in range(2))
    y[3] = x[7]
    large_x, large_y = x * np.float32(scale), y * np.float32(scale)
    assert usual_nearest_distance(large_x) == pytest.approx(scale * usual_nearest_distance(x))
    assert [j for j, _, _ in nearest_within(large_x, large_y, 0.5 * scale)] == [
        j for j, _, _ in nearest_within(x, y, 0.5)
    ]
