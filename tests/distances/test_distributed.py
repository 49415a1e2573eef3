"""Distances as map and reduce: the same numbers as in one piece."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.distributed import kernel as tiles
from otadtk.distances.distributed.backend import EngineBackend
from otadtk.distances.distributed.gibbs import DistributedKernel, blocks_of
from otadtk.distances.distributed.kernel import kernel_distance_over
from otadtk.distances.distributed.moments import moments_over
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.moments import moments
from otadtk.distances.transport.approximate import minibatch_divergence
from otadtk.distances.transport.dense.gibbs import PanelKernel, kernel_tiles
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.engine import LocalEngine

from .clouds import fad_of

ENGINE = LocalEngine(2)


def clouds(n: int, m: int, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + 3.0
    return x.astype(np.float32), (1.1 * rng.normal(size=(m, d)) + 3.2).astype(np.float32)


@pytest.mark.parametrize(("n", "m"), [(1000, 700), (300, 1000)])
def test_frechet_of_shards(n: int, m: int) -> None:
    x, y = clouds(n, m)
    first, second = (moments_over(ENGINE, side, shard=128) for side in (x, y))
    assert first.count == n
    assert frechet_distance(first, second) == pytest.approx(fad_of(x, y), rel=1e-9)


def test_few_points_stay_here() -> None:
    x, _ = clouds(100, 1)
    never: Any = SimpleNamespace()  # asked for anything, it fails
    assert np.array_equal(moments_over(never, x).mean, moments(x).mean)


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
    far = minibatch_divergence(
        x, y, batch_size=25, repetitions=2, seed=5, backend=EngineBackend(ENGINE)
    )
    assert (near.value, near.interval) == (far.value, far.interval)
    assert np.array_equal(near.cj, far.cj)
    assert np.array_equal(near.reference_costs, far.reference_costs)


# in float64 with a part of the panels kept, in float32 with none
@pytest.mark.parametrize(("dimension", "memory"), [(6, 130_000_000), (32, 1)])
def test_sinkhorn_of_distributed_rows(
    dimension: int, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = clouds(2600, 2200, dimension)
    ways = {"epsilon": 0.1, "epsilon_scale": "median_cost", "max_memory": memory}
    monkeypatch.setattr("otadtk.distances.transport.solve.TILED_FROM", 10**9)  # as on workers
    near = sinkhorn_divergence(x, y, **ways)  # type: ignore[arg-type]
    shared: list[Any] = []
    monkeypatch.setattr(LocalEngine, "share", lambda _, rows: shared.append(rows) or (lambda: rows))
    far = sinkhorn_divergence(x, y, backend=EngineBackend(LocalEngine(3)), **ways)  # type: ignore[arg-type]
    assert {near.xx.regime, near.yy.regime, near.xy.regime} == {"smooth"}
    assert len(shared) == 3, "all terms went over the engine"
    for rows in shared:
        assert len(rows.kernels) == 3
        assert all(bool(kernel.kept) == (memory > 1) for kernel in rows.kernels.values())
    assert far.converged
    assert far.value == pytest.approx(near.value, rel=1e-6)
    assert far.error_bar == pytest.approx(near.error_bar, rel=1e-3)
    assert np.allclose(far.cj, near.cj, rtol=1e-6)
    assert np.allclose(far.reference_costs, near.reference_costs, rtol=1e-6)


def test_products_of_distributed_rows() -> None:
    x, y = (torch.from_numpy(side) for side in clouds(2600, 2200))
    cost = SquaredCost(x, y, torch.float64)
    near, far = PanelKernel(cost, 1.0, 0), DistributedKernel(ENGINE, cost, 1.0, 0)
    u, v = torch.rand(2600, dtype=torch.float64), torch.rand(2200, dtype=torch.float64)
    pairs = [
        (near.apply(v), far.apply(v)),
        (near.apply_transposed(u), far.apply_transposed(u)),
        *zip(near.sweep(u, v), far.sweep(u, v), strict=True),
        *zip(near.products(u, v, v, u), far.products(u, v, v, u), strict=True),
        (near.column_squares(u), far.column_squares(u)),
    ]
    for here, there in pairs:
        assert torch.allclose(here, there, rtol=1e-12, atol=0.0)


def test_sinkhorn_of_rows_that_fit_stays_here() -> None:
    x, y = clouds(60, 40)
    never = SimpleNamespace()  # asked for anything, it fails
    assert (
        sinkhorn_divergence(x, y, backend=EngineBackend(never)).value
        == sinkhorn_divergence(x, y).value
    )  # type: ignore[arg-type]


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 9), st.booleans())
@settings(max_examples=50, deadline=None)
def test_blocks_hold_every_panel_once(n: int, m: int, count: int, symmetric: bool) -> None:
    x = torch.zeros(n, 1)
    cost = SquaredCost(x, x if symmetric else torch.zeros(m, 1))
    blocks = blocks_of(cost, count)
    assert [rows for _, tiles in blocks for rows in tiles] == kernel_tiles(cost)
    assert len(blocks) <= count
    assert [number for number, _ in blocks] == list(range(len(blocks)))


def test_mass_at_the_floor_of_distributed_rows() -> None:
    """Scalings that put all mass where K underflows: it is seen, and the potentials absorbed."""
    x = torch.tensor([[0.0], [1.0], [50.0]], dtype=torch.float64)
    cost = SquaredCost(x, x.flip(0) + 0.5, torch.float32)
    u, v = torch.tensor([1.0, 1.0, 1e10]).double(), torch.tensor([1.0, 1e30, 1.0]).double()
    near = PanelKernel(cost, 1.0, 0)
    far = DistributedKernel(ENGINE, cost, 1.0, 0)
    assert torch.equal(far.f, near.f)
    assert torch.equal(far.g, near.g)
    assert near.clipped_mass(u, v) > 0.0
    assert far.clipped_mass(u, v) == near.clipped_mass(u, v)
