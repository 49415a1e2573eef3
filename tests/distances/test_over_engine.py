"""Distances as map and reduce: the same numbers as in one piece."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.distances import tiles
from otadtk.distances.approximate import minibatch_divergence
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.shards import Moments, frechet_distance_over
from otadtk.distances.tiles import kernel_distance_over
from otadtk.engine import LocalEngine

ENGINE = LocalEngine(2)


def clouds(n: int, m: int, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + 3.0
    return x.astype(np.float32), (1.1 * rng.normal(size=(m, d)) + 3.2).astype(np.float32)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.floats(0, 1e6))
@settings(max_examples=50, deadline=None)
def test_moments_merge(sizes: list[int], offset: float) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(size, 3)) + offset for size in sizes]
    merged = Moments.of(parts[0])
    for part in parts[1:]:
        merged = merged.merged(Moments.of(part))
    whole = Moments.of(np.concatenate(parts))
    assert merged.count == whole.count
    assert np.allclose(merged.mean, whole.mean, rtol=1e-13)
    # far from the origin a sum of squares would have no digits left
    assert np.allclose(merged.scatter, whole.scatter, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("n", "m"), [(1000, 700), (300, 1000)])
def test_frechet_of_shards(n: int, m: int) -> None:
    x, y = clouds(n, m)
    assert frechet_distance_over(ENGINE, x, y, shard=128) == pytest.approx(
        frechet_distance(x, y), rel=1e-9
    )


@pytest.mark.parametrize("bandwidth", ["eval", "ref", "pooled", 2.0])
def test_kernel_of_tiles_to_the_last_bit(bandwidth: float | str) -> None:
    x, y = clouds(1300, 900)
    far = kernel_distance_over(ENGINE, x, y, bandwidth=bandwidth)  # type: ignore[arg-type]
    assert far == kernel_distance(x, y, bandwidth=bandwidth)  # type: ignore[arg-type]


def test_kernel_of_wide_sets_in_narrow_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large sets: tiles cut in width, many tasks, a median from bins."""
    x, y = clouds(1300, 900, seed=3)
    near = kernel_distance(x, y)
    monkeypatch.setattr(tiles, "_WIDEST", 500)
    monkeypatch.setattr(tiles, "_WIDTH", 256)
    monkeypatch.setattr(tiles, "TILE", 1 << 13)
    monkeypatch.setattr(tiles, "_TASK", 1 << 15)
    monkeypatch.setattr(tiles, "_VALUES", 2000)
    far = kernel_distance_over(ENGINE, x, y)
    assert far.bandwidth == pytest.approx(near.bandwidth, rel=1e-6)
    assert far.value == pytest.approx(near.value, rel=1e-6)


def test_median_outside_its_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = clouds(1200, 400, seed=4)
    sigma = kernel_distance(y, x).bandwidth
    monkeypatch.setattr(tiles, "bracket", lambda cost, margin: (0.0, 1e-3))
    for most in (1 << 22, 1000):  # all distances taken in, or counted in bins
        monkeypatch.setattr(tiles, "_VALUES", most)
        found = kernel_distance_over(ENGINE, y, x).bandwidth
        assert found == pytest.approx(sigma, rel=1e-6)


def test_median_of_equal_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_VALUES", 10)
    x = np.eye(64, dtype=np.float32)
    found = kernel_distance_over(ENGINE, x + 1.0, x).bandwidth
    assert found == pytest.approx(2.0**0.5, rel=1e-6)


def test_minibatches_to_the_last_bit() -> None:
    x, y = clouds(90, 70)
    near = minibatch_divergence(x, y, batch_size=25, repetitions=2, seed=5)
    far = minibatch_divergence(x, y, batch_size=25, repetitions=2, seed=5, engine=ENGINE)
    assert (near.value, near.interval) == (far.value, far.interval)
    assert np.array_equal(near.cj, far.cj)
    assert np.array_equal(near.reference_costs, far.reference_costs)
