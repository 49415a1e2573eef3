"""The smooth regime in tiles: few sweeps, and a certificate from the marginals alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.certificate.bound import value_from_marginals
from otadtk.distances.transport.dense.gibbs import PanelKernel
from otadtk.distances.transport.dense.smooth import KernelPlan
from otadtk.distances.transport.dense.surrogate import Sampler, Surrogate
from otadtk.distances.transport.dense.tiled import TiledCross, start, tiled_kernel
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence

EPSILON = 0.1


def two_clouds(n: int, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Points of unit norm, of which a fifth are near copies of others."""
    rng = np.random.default_rng(0)
    sides = [rng.normal(size=(n, d)) + shift for shift in (0.0, 0.2)]
    for side in sides:
        side[: n // 5] = side[n // 5 : 2 * (n // 5)] + 0.01 * rng.normal(size=(n // 5, d))
    return tuple(side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)


@pytest.fixture
def small_tiles(monkeypatch):
    """The ladder of large problems for small ones."""
    monkeypatch.setattr("otadtk.distances.transport.solve.TILED_FROM", 1)
    monkeypatch.setattr("otadtk.distances.transport.dense.tiled._FEWEST", 100)
    monkeypatch.setattr("otadtk.distances.transport.dense.surrogate.LEAST_KAPPA", 200.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_tiles_give_the_value_in_at_most_twelve_sweeps(weighted, small_tiles):
    x, y = two_clouds(900)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, size=(2, 900)) if weighted else (None,) * 2
    options = {"epsilon": EPSILON, "weights_x": weights[0], "weights_y": weights[1]}
    kept = sinkhorn_divergence(x, y, **options)
    tiled = sinkhorn_divergence(x, y, **options, max_memory=1)
    assert tiled.converged
    assert max(term.gap for term in (tiled.xy, tiled.xx, tiled.yy)) < 1e-7
    assert abs(tiled.value - kept.value) <= kept.error_bar + tiled.error_bar
    assert abs(tiled.value - kept.value) < 1e-6
    np.testing.assert_allclose(tiled.cj, kept.cj, rtol=1e-4, atol=1e-9)
    # of a cloud with itself a sweep visits half of the pairs
    assert tiled.xy.iterations + 0.5 * (tiled.xx.iterations + tiled.yy.iterations) <= 12


@pytest.mark.parametrize("near", [False, True])
def test_a_step_on_the_stand_in_leaves_little_of_the_error(near):
    x, y = (torch.from_numpy(side) for side in two_clouds(900))
    cost = SquaredCost(x, y, torch.float32)
    a = b = torch.full((900,), 1.0 / 900, dtype=torch.float64)
    f, g = start(cost, a, b, EPSILON)
    kernel = (
        tiled_kernel(cost, EPSILON, f, g)
        if near
        else PanelKernel(cost, EPSILON, 0, potentials=(f, g))
    )
    term = TiledCross(kernel, a, b, g)
    point = b.log() + (g - kernel.g) / EPSILON
    sampler = term.sampler(8 * 100 * 1800)  # a hundred entries a point of nine hundred
    term.sweep(point, sampler, wide=False)
    stand_in = Surrogate(sampler)
    assert sampler.matrix().nnz < 0.3 * 900 * 900
    errors = [term.error]
    for _ in range(3):
        point = point + term.step(stand_in)
        term.sweep(point, None, wide=True)
        errors.append(term.error)
    assert errors[3] < 0.1**3 * errors[0]


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_sample_is_right_on_average(symmetric):
    generator = torch.Generator().manual_seed(1)
    kernel = torch.rand(40, 40, generator=generator).pow(8.0)
    kernel = kernel + kernel.T if symmetric else kernel
    a = torch.full((40,), 1.0 / 40, dtype=torch.float64)
    mean, draws = np.zeros((40, 40)), 300
    sampler = Sampler(a, a, 0, symmetric=symmetric)
    sampler._factor = 40.0  # p = K: a few entries a row
    sampler._random = torch.rand(1 << 20, generator=generator)
    for _ in range(draws):
        sampler._count = 0
        sampler._lengths[:] = 0
        sampler.add(slice(0, 40), kernel, a, a)
        drawn = sampler.matrix().toarray()
        mean += (drawn + drawn.T if symmetric else drawn) / draws
    assert sampler.matrix().nnz < 0.3 * 1600
    assert np.abs(mean - kernel.numpy()).max() < 0.15
    np.testing.assert_allclose(mean.sum(), float(kernel.sum()), rtol=0.01)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("off", [1e-8, 1e-4, 1e-1])
def test_the_bound_from_the_marginals_is_above_the_value(off, symmetric):
    x, y = (torch.from_numpy(side) for side in two_clouds(150))
    y = x if symmetric else y
    cost = SquaredCost(x, y, torch.float64)
    a = torch.full((150,), 1.0 / 150, dtype=torch.float64)
    kernel = PanelKernel(cost, EPSILON, 0)
    u = v = a
    for _ in range(600):
        u = a / kernel.apply(v)
        v = torch.sqrt(v * a / kernel.apply(v)) if symmetric else a / kernel.apply_transposed(u)
    u = v if symmetric else u
    exact = KernelPlan(kernel, u, v, a, a)
    value = float(a.numpy() @ (exact.f + exact.g))
    noise = off * torch.randn(150, generator=torch.Generator().manual_seed(2)).double()
    moved = v * noise.exp()
    plan = KernelPlan(kernel, moved if symmetric else None, moved, a, a)
    bound = value_from_marginals(plan, a.numpy(), a.numpy(), cost, EPSILON)
    assert value - 1e-12 <= bound <= value + 20.0 * off
