"""Distances between subsets of a pool equal those computed from the points themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.pool import PooledCosts
from otadtk.distances.subsets import frechet_between, kernel_between, transport_between
from otadtk.distances.transport import TransportSettings, transport

from .clouds import clouds


def pool_and_draws(scale=1.0, n=40, m=35, d=5):
    """A pool with repeated points, and three pairs of disjoint subsets of it."""
    x, y = clouds(1, n=n, m=m, d=d, scale=scale)
    x[3:6], y[2] = x[0], x[0]
    pool = np.concatenate([x, y])
    rng = np.random.default_rng(0)
    orders = [np.arange(n + m), rng.permutation(n + m), rng.permutation(n + m)[: n + m - 9]]
    return pool, [(order[:n], order[n:]) for order in orders]


@pytest.mark.parametrize(
    "settings",
    [
        TransportSettings(),
        TransportSettings(divergence="entropic"),
        TransportSettings(epsilon=0.05, epsilon_scale="median_cost"),
        TransportSettings(coupling="exact"),
        TransportSettings(coupling="sliced", seed=3),
        TransportSettings(max_memory=1000),
        TransportSettings(compat="otadtk-0.1.2"),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [0.3, 1.0, 30.0])
def test_transport(settings, scale):
    pool, draws = pool_and_draws(scale)
    between = transport_between(pool, settings)
    for i, j in draws:
        expected = transport(pool[i], pool[j], settings).value
        assert between(i, j) == pytest.approx(expected, rel=1e-3, abs=1e-4 * scale)


@pytest.mark.parametrize("d", [5, 200])
def test_frechet(d):
    pool, draws = pool_and_draws(d=d)
    between = frechet_between(pool)
    for i, j in draws:
        assert between(i, j) == pytest.approx(frechet_distance(pool[i], pool[j]), rel=1e-6)


@pytest.mark.parametrize("bandwidth", ["eval", "ref", "pooled", 2.0])
def test_kernel(bandwidth):
    pool, draws = pool_and_draws()
    between = kernel_between(pool, bandwidth)
    for i, j in draws:
        expected = kernel_distance(pool[i], pool[j], bandwidth=bandwidth).value
        assert between(i, j) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_without_room_for_the_matrix(monkeypatch):
    monkeypatch.setattr("otadtk.distances.pool.default_memory", lambda: 1000)
    pool, draws = pool_and_draws()
    i, j = draws[1]
    assert frechet_between(pool)(i, j) == pytest.approx(frechet_distance(pool[i], pool[j]))
    assert kernel_between(pool)(i, j) == pytest.approx(kernel_distance(pool[i], pool[j]).value)


def test_a_block_is_a_cost():
    pool, _ = pool_and_draws()
    costs = PooledCosts(torch.from_numpy(pool), torch.float64, merge=False)
    rows, columns = torch.tensor([5, 1, 9]), torch.tensor([30, 2])
    block = costs.block(rows, columns)
    expected = np.square(pool[[5, 1, 9]][:, None] - pool[[30, 2]][None]).sum(axis=2)
    assert block.tile(slice(0, 3)).numpy() == pytest.approx(expected)
    assert block.transposed().tile(slice(0, 2)).numpy() == pytest.approx(expected.T)
    chosen = block.restricted(torch.tensor([2, 0]), torch.tensor([1]))
    assert chosen.tile(slice(0, 2)).numpy() == pytest.approx(expected[[2, 0]][:, [1]])
    assert block.entries(torch.tensor([1]), torch.tensor([0])).item() == pytest.approx(
        expected[1, 0]
    )
    assert block.mean(torch.full((3,), 1 / 3), torch.full((2,), 0.5)) == pytest.approx(
        expected.mean()
    )
    assert not block.symmetric
    assert costs.block(rows, rows).symmetric
