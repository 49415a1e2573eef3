"""Distances between subsets of a pool equal those computed from the points themselves."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.distances.kernel import kernel_distance
from otadtk.distances.subsets import frechet_between, kernel_between, transport_between
from otadtk.distances.transport.couplings import TransportSettings, transport
from otadtk.distances.transport.solve import Coupler

from .clouds import clouds, fad_of


def unsolved(draws, a, b):
    """No draw is solved together with others."""
    return [None] * len(a)


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
        assert between(i, j) == pytest.approx(fad_of(pool[i], pool[j]), rel=1e-6)


@pytest.mark.parametrize("bandwidth", ["eval", "ref", "pooled", 2.0])
def test_kernel(bandwidth):
    pool, draws = pool_and_draws()
    between = kernel_between(pool, bandwidth)
    for i, j in draws:
        expected = kernel_distance(pool[i], pool[j], bandwidth=bandwidth).value
        assert between(i, j) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_without_room_for_the_matrix():
    pool, draws = pool_and_draws()
    i, j = draws[1]
    assert frechet_between(pool, max_memory=1000)(i, j) == pytest.approx(fad_of(pool[i], pool[j]))
    assert kernel_between(pool, max_memory=1000)(i, j) == pytest.approx(
        kernel_distance(pool[i], pool[j]).value
    )


# Above so many distinct points a side a sharp problem is annealed on a sample of them. The scales
# are smooth, in between and sharp.
@pytest.mark.parametrize("scale", [0.3, 2.0, 30.0])
@pytest.mark.parametrize("outliers", [False, True])
@pytest.mark.parametrize("epsilon_scale", ["absolute", "median_cost"])
def test_transport_above_the_sampling_threshold(monkeypatch, scale, outliers, epsilon_scale):
    monkeypatch.setattr("otadtk.distances.subsets.LARGEST", 0)
    monkeypatch.setattr("otadtk.distances.transport.sparse.annealing.SAMPLE", 20)
    pool, draws = pool_and_draws(scale, n=90, m=80)
    if outliers:  # up to 10⁸ ε away: beyond the digits of float32
        pool[::17] *= 40.0
    settings = TransportSettings(epsilon_scale=epsilon_scale)
    between = transport_between(pool, settings)
    for i, j in draws:
        expected = transport(pool[i], pool[j], settings)
        assert expected.converged
        assert between(i, j) == pytest.approx(expected.value, rel=1e-3, abs=1e-4 * scale)


def test_every_regime_of_a_pool_above_the_sampling_threshold(monkeypatch):
    """Each way through the solver takes the costs of a pool, with more points than are sampled."""
    monkeypatch.setattr("otadtk.distances.subsets.LARGEST", 0)
    monkeypatch.setattr("otadtk.distances.transport.solve.LARGEST", 0)
    monkeypatch.setattr("otadtk.distances.subsets.PooledDraws.solve", unsolved)
    monkeypatch.setattr("otadtk.distances.transport.sparse.annealing.SAMPLE", 20)
    taken: set[str] = set()
    for way in ("_smooth", "_sharp_cross", "_sharp_self", "_annealed", "_newton"):
        call = getattr(Coupler, way)

        def watched(self, *arguments, way=way, call=call, **options):
            taken.add(way)
            return call(self, *arguments, **options)

        monkeypatch.setattr(Coupler, way, watched)
    # a sharp problem whose plan is never sparse enough
    for scale, cap in ((0.3, None), (30.0, None), (1.0, 1)):
        if cap is not None:
            monkeypatch.setattr("otadtk.distances.transport.sparse.sharp._FEW", cap)
            monkeypatch.setattr("otadtk.distances.transport.sparse.sharp._DENSEST", 0.0)
        pool, draws = pool_and_draws(scale, n=60, m=50)
        settings = TransportSettings()
        i, j = draws[1]
        expected = transport(pool[i], pool[j], settings).value
        assert transport_between(pool, settings)(i, j) == pytest.approx(expected, rel=1e-3)
    assert taken >= {"_smooth", "_sharp_cross", "_sharp_self", "_annealed"}


def test_a_newton_step_whose_scaling_underflows_is_rejected(monkeypatch):
    """Its potentials would be infinite, and the certificate warn; warnings are errors here."""
    monkeypatch.setattr("otadtk.distances.subsets.LARGEST", 0)
    monkeypatch.setattr("otadtk.distances.transport.solve.LARGEST", 0)
    rng = np.random.default_rng(118)
    n, m, d = rng.integers(2, 90), rng.integers(2, 90), rng.integers(1, 40)
    scale = 10.0 ** rng.uniform(-2, 2.5)
    x = rng.normal(size=(n, d))
    y = rng.normal(size=(m, d)) * rng.uniform(0.5, 2) + rng.uniform(0, 1)
    copies = min(n, m) // 2
    y[:copies] = x[:copies] + 1e-4 * rng.normal(size=(copies, d))
    x[::5] *= 30.0
    pool, order = scale * np.concatenate([x, y]), rng.permutation(n + m)
    i, j = order[:n], order[n:]
    expected = transport(pool[i], pool[j], TransportSettings()).value
    found = transport_between(pool, TransportSettings())(i, j)
    assert found == pytest.approx(expected, rel=1e-3)


def test_an_extrapolation_that_loses_all_mass_is_taken_back():
    """Two pairs with unequal weights; mixing overshot, and the plan without mass was divided by it."""
    points = np.array(
        [
            [0.15, -0.035, -0.547],
            [-0.011, -0.505, 0.54],
            [0.011, 0.502, 0.546],
            [-0.151, 0.038, -0.54],
        ]
    )
    first, second = np.array([0, 0, 0, 1]), np.array([2, 2, 2, 3])
    settings = TransportSettings()
    expected = transport(points[first], points[second], settings).value
    found = transport_between(points, settings)(first, second)
    assert found == pytest.approx(expected, rel=1e-4)


def test_2050_points_a_side_in_the_sharp_regime():
    rng = np.random.default_rng(0)
    pool = 30.0 * rng.normal(size=(4100, 4))
    i, j = np.arange(2050), 2050 + np.arange(2050)
    settings = TransportSettings()
    expected = transport(pool[i], pool[j], settings)
    assert expected.xy.regime == "sharp"
    assert transport_between(pool, settings)(i, j) == pytest.approx(expected.value, rel=1e-3)


KINDS = ("sharp", "entropic")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 100.0])
def test_small_draws_are_solved_together(kind, scale):
    """Subsets of different sizes with repeated points, in every regime, some with points far away."""
    rng = np.random.default_rng(3)
    pool = scale * rng.normal(size=(90, 3))
    pool[::13] *= 20.0
    draws = [np.split(rng.integers(90, size=80), [rng.integers(1, 79)]) for _ in range(12)]
    settings = TransportSettings(divergence=kind)
    between = transport_between(pool, settings)
    assert between.at_once > 1
    together = between.many(draws)
    assert [between(*draw) for draw in draws] == pytest.approx(together, rel=1e-4)
    for value, (i, j) in zip(together, draws, strict=True):
        alone = transport(pool[i], pool[j], settings)
        assert value == pytest.approx(alone.value, rel=1e-4, abs=alone.error_bar)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "epsilon", [2.0, 0.2, 0.05, 0.001], ids=["smooth", "deep", "middle", "sharp"]
)
def test_draws_of_a_pool_are_solved_together(monkeypatch, kind, epsilon):
    """Subsets of 150 points or so, some of them equal, two far from all, in every regime."""
    rng = np.random.default_rng(5)
    pool = rng.normal(size=(320, 6))
    pool[:2] *= 3.0
    pool[10:14] = pool[14]
    draws = [np.split(rng.permutation(320)[20:], [rng.integers(100, 200)]) for _ in range(5)]
    settings = TransportSettings(epsilon=epsilon, divergence=kind)
    between = transport_between(pool, settings)
    expected = [between.exactly(i, j) for i, j in draws]
    alone, calls = between._alone, []
    monkeypatch.setattr(between, "_alone", lambda *problem: calls.append(0) or alone(*problem))
    assert between.at_once > 1
    assert between.many(draws) == pytest.approx(expected, abs=between.margin)
    assert len(calls) <= 1


def test_few_small_problems_need_the_ladder(monkeypatch):
    """A batch that never converges would be right all the same, but slow."""
    rng = np.random.default_rng(4)
    between = transport_between(
        np.concatenate([20.0 * rng.normal(size=(60, 8)), rng.normal(size=(60, 8))]),
        TransportSettings(),
    )
    monkeypatch.setattr(between, "_alone", None)  # not to be called
    draws = [np.split(rng.permutation(120), 2) for _ in range(20)]
    assert np.isfinite(between.many(draws)).all()
