"""Moments merge without loss, and the Fréchet distance of them is the formula."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.moments import Moments, merge, moments
from otadtk.errors import UsageError

from .clouds import clouds, fad_of

shards = st.lists(st.integers(1, 30), min_size=1, max_size=6)


@given(shards, st.integers(1, 40), st.floats(0, 1e6))
@settings(max_examples=80, deadline=None)
def test_moments_of_shards_merge_into_those_of_the_whole(
    sizes: list[int], dimension: int, offset: float
) -> None:
    """In either form: few samples in many dimensions have a factor, many a covariance."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(size, dimension)) + offset for size in sizes]
    merged = reduce(merge, map(moments, parts))
    whole = moments(np.concatenate(parts))
    assert merged.count == whole.count == sum(sizes)
    assert np.allclose(merged.mean, whole.mean, rtol=1e-13)
    # far from the origin a sum of squares would have no digits left
    assert np.allclose(merged.full_covariance(), whole.full_covariance(), rtol=1e-6, atol=1e-8)
    assert merged.trace == pytest.approx(whole.trace, rel=1e-8, abs=1e-12)


@given(st.integers(2, 700), st.integers(1, 300))
@settings(max_examples=30, deadline=None)
def test_moments_are_those_of_numpy(n: int, d: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, d)).astype(np.float32)
    found = moments(points)
    covariance = np.cov(points.astype(float), rowvar=False).reshape(d, d)
    assert (found.factor is None) == (n > d)
    assert found.full_covariance() == pytest.approx(covariance, abs=1e-12)
    assert np.array_equal(found.full_covariance(), found.full_covariance().T)
    assert found.mean == pytest.approx(points.astype(float).mean(axis=0), abs=1e-12)


def test_a_distance_of_merged_moments_is_that_of_the_whole() -> None:
    x, y = (side + 1e3 for side in clouds(3, 300, 200, 6))
    merged = merge(moments(x[:120]), moments(x[120:]))
    assert frechet_distance(merged, moments(y)) == pytest.approx(fad_of(x, y), rel=1e-9)


def test_moments_that_are_given() -> None:
    """As of a file: the count is not known, which a distance does not need and a merge does."""
    x, y = clouds(4, 90, 70, 5)
    given_x = Moments(None, x.mean(axis=0), covariance=np.cov(x, rowvar=False))
    assert frechet_distance(given_x, moments(y)) == pytest.approx(fad_of(x, y), rel=1e-9)
    with pytest.raises(UsageError, match="unknown number"):
        merge(given_x, moments(y))


def test_bad_moments_are_refused() -> None:
    square = np.eye(3)
    with pytest.raises(UsageError, match="one sample"):
        fad_of(np.zeros((1, 3)), np.ones((4, 3)))
    for other in (merge, frechet_distance):
        with pytest.raises(UsageError, match="dimension: 3 and 4"):
            other(moments(np.zeros((2, 3))), moments(np.zeros((2, 4))))
    with pytest.raises(UsageError, match="not both"):
        Moments(2, np.zeros(3), covariance=square, factor=square)
    with pytest.raises(UsageError, match="not both"):
        Moments(2, np.zeros(3))
    with pytest.raises(UsageError, match=r"shape \(2, 2\)"):
        Moments(2, np.zeros(2), covariance=square)
    with pytest.raises(UsageError, match="2 rows"):
        Moments(2, np.zeros(2), factor=square)
    with pytest.raises(UsageError, match="x has NaN"):
        moments([[np.nan]], "x")


@pytest.mark.parametrize(("n", "m", "d"), [(200, 150, 6), (12, 9, 20), (200, 9, 20), (2, 2, 5)])
def test_fad_is_the_formula(n, m, d):
    x, y = clouds(0, n, m, d)
    first, second = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    # tr M^½ is the sum of the roots of M's eigenvalues; sqrtm itself fails on singular matrices
    roots = np.sqrt(np.linalg.eigvals(first @ second).real.clip(min=0.0))
    shift = x.mean(axis=0) - y.mean(axis=0)
    formula = shift @ shift + np.trace(first + second) - 2 * roots.sum()
    assert fad_of(x, y) == pytest.approx(formula, rel=1e-5)


@pytest.mark.parametrize("still", [False, True])
def test_fad_of_many_dimensions_takes_one_factor(monkeypatch, still):
    x, y = clouds(1, 150, 200, 6)
    if still:  # no Cholesky factor: a direction of no spread
        x[:, 2] = y[:, 2] = 1.5
    expected = fad_of(x, y)
    monkeypatch.setattr("otadtk.distances.frechet._DIRECT_UP_TO", 3)
    monkeypatch.setattr("otadtk.distances.moments._CHUNK", 64)
    assert fad_of(x, y) == pytest.approx(expected, rel=1e-7)
    assert fad_of(x.astype(np.float32), y) == pytest.approx(expected, rel=1e-5)


def test_fad_of_gaussians_with_known_moments():
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) * np.sqrt(0.75)
    stretched = corners * [3.0, 0.5] + [2.0, 0.0]  # covariances I and diag(9, ¼)
    assert fad_of(corners, stretched) == pytest.approx(4 + (3 - 1) ** 2 + (0.5 - 1) ** 2)


def test_fad_with_a_dimension_that_never_moves():
    x, y = clouds(1, 50, 60, 4)
    x[:, 2] = y[:, 2] = 1.5
    without = fad_of(np.delete(x, 2, 1), np.delete(y, 2, 1))
    assert fad_of(x, y) == pytest.approx(without, rel=1e-6)
