"""The parts of the solver: panels, the truncated plan, column generation, legacy arithmetic."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch

from otadtk.distances.costs.duplicates import merge_duplicates
from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.certificate.bracket import transport_bracket
from otadtk.distances.transport.certificate.certify import certify
from otadtk.distances.transport.dense.gibbs import PanelKernel
from otadtk.distances.transport.dense.smooth import KernelPlan, solve_cross, solve_self
from otadtk.distances.transport.exact import exact_transport
from otadtk.distances.transport.legacy import COMPAT
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.distances.transport.sparse.columns import transport_by_columns
from otadtk.distances.transport.sparse.newton import SparseDual, SparsePlan
from otadtk.distances.transport.sparse.support import near_pairs
from otadtk.errors import UsageError

from .clouds import clouds, long_run


def uniform(count):
    return torch.full((count,), 1.0 / count, dtype=torch.float64)


def silent(*_):
    pass


def solved_sums(elements, memory):
    x, y = (torch.tensor(points) for points in clouds(0, 45, 38))
    kernel = PanelKernel(SquaredCost(x, y), 0.5, memory, elements)
    a, b = uniform(45), uniform(38)
    u, v, _ = solve_cross(kernel, a, b, 1e-10, 500, silent)
    return kernel, KernelPlan(kernel, u, v, a, b, 0.0).sums


@pytest.mark.parametrize("elements", [1, 38, 100, 1 << 20])
@pytest.mark.parametrize("memory", [0, 3000, 1 << 30])
def test_tiles_of_any_size_and_any_memory_give_the_same_plan(elements, memory):
    _, whole = solved_sums(1 << 20, 1 << 30)
    kernel, cut = solved_sums(elements, memory)
    assert kernel.streaming == (memory < 45 * 38 * 8)
    assert cut.column_costs == pytest.approx(whole.column_costs, rel=1e-7)
    assert cut.row_costs == pytest.approx(whole.row_costs, rel=1e-7)
    assert cut.variance == pytest.approx(whole.variance, rel=1e-6)


@pytest.mark.parametrize("elements", [1, 70, 1 << 20])
def test_the_symmetric_kernel_uses_its_upper_triangle_for_both(elements):
    x = torch.tensor(clouds(1, 41)[0])
    cost = SquaredCost(x, x)
    kernel = PanelKernel(cost, 0.5, 5000, elements)
    absorbed = kernel.f[:, None] + kernel.g  # where all points are near, their squared norms
    full = torch.exp((absorbed - torch.cdist(x, x).square()) / 0.5)
    vector = torch.rand(41, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert kernel.apply(vector).numpy() == pytest.approx((full @ vector).numpy(), rel=1e-9)
    s, _, _ = solve_self(kernel, uniform(41), 1e-12, 100, "xx", silent)
    sums = KernelPlan(kernel, s, s, uniform(41), uniform(41), 0.0).sums
    plan = s[:, None] * full * s
    assert sums.rows == pytest.approx(plan.sum(dim=1).numpy(), rel=1e-9)
    costs = (plan * torch.cdist(x, x).square()).sum(dim=1)
    assert sums.column_costs == pytest.approx(costs.numpy(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_little_memory_changes_nothing(scale):
    x, y = clouds(2, 300, 280, scale=scale)
    free, tight = sinkhorn_divergence(x, y), sinkhorn_divergence(x, y, max_memory=1)
    assert tight.value == pytest.approx(free.value, rel=1e-7)
    assert tight.forecast_bytes < free.forecast_bytes


def test_mass_that_must_go_where_the_kernel_underflows():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(30, 2)), [[60.0, 0.0]]]).astype(np.float32)
    y = np.concatenate([rng.normal(size=(30, 2)), [[0.0, 60.0]]]).astype(np.float32)
    cost = SquaredCost(torch.tensor(x), torch.tensor(y), torch.float32)
    # at ε = 1 most costs are smooth, but the two outliers are 3600 ε from everything
    result = sinkhorn_divergence(x, y, epsilon=1.0)
    assert result.converged
    exact = ot.emd2(ot.unif(31), ot.unif(31), ot.dist(x.astype(float), y.astype(float)))
    assert exact <= result.xy.value + result.xy.value_error
    assert result.xy.value <= exact + np.log(31**2)
    assert float(cost.tile(slice(30, 31)).min()) > 3000


def test_products_with_scalings_near_the_end_of_float32():
    """Far points have scalings of 1e35; times a correction, that overflows float32."""
    x, y = (torch.tensor(points) for points in clouds(6, 20, 15))
    kernel = PanelKernel(SquaredCost(x, y, torch.float32), 1.0, 1 << 30)
    a, b = uniform(20), uniform(15)
    small = KernelPlan(kernel, a, b, a, b, 0.0)
    large = KernelPlan(kernel, a / 2.0**110, b * 2.0**110, a, b, 0.0)
    for z in (1.0, 1e9):
        beta, alpha = z * np.linspace(-1, 1, 15), z * np.linspace(-1, 1, 20)
        assert np.array_equal(large.apply(beta), small.apply(beta))
        assert np.array_equal(large.apply_transposed(alpha), small.apply_transposed(alpha))


@pytest.mark.parametrize("far", [20.0, 60.0])
def test_a_plan_on_clipped_entries_is_not_certified_below_the_optimum(far):
    """Mass that must go where K was raised to its floor costs more than the potentials say."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(30, 2)), [[far, 0.0]]])
    y = np.concatenate([rng.normal(size=(30, 2)), [[0.0, far]]])
    cost = SquaredCost(torch.tensor(x), torch.tensor(y), torch.float32)
    a = uniform(31)
    kernel = PanelKernel(cost, 1.0, 1 << 30, potentials=(0.0 * a, 0.0 * a))
    u, v, _ = solve_cross(kernel, a, a, 1e-9, 200, silent)
    clipped = kernel.clipped_mass(u, v)
    assert clipped > 0.01
    term = certify(
        KernelPlan(kernel, u, v, a, a, clipped), a.numpy(), a.numpy(), cost, 1.0,
        tolerance=1e-5, iterations=200, regime="smooth",
    )  # fmt: skip
    exact = ot.emd2(ot.unif(31), ot.unif(31), ot.dist(x, y))
    assert term.primal >= exact
    assert not term.converged


@pytest.mark.parametrize("scale", [0.2, 0.7, 3.0])
@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3, 0.1, 1.0])
def test_any_potentials_bracket_the_truth(scale, noise):
    """Both bounds hold for potentials that are off by so many ε, and close in on good ones."""
    epsilon, rng = 0.1, np.random.default_rng(8)
    x, y = clouds(8, 30, 25, scale=scale)
    solved = sinkhorn_divergence(x, y, potentials=True, tolerance=1e-9)
    f, g = (p + noise * epsilon * rng.normal(size=len(p)) for p in solved.xy.potentials)
    cost = SquaredCost(torch.tensor(x), torch.tensor(y))
    everything = near_pairs(
        Panels(cost, 0), torch.tensor(f), torch.tensor(g), float("inf"), 30 * 25
    )
    a, b = ot.unif(30), ot.unif(25)
    plan = SparsePlan(SparseDual(everything, a, b, epsilon), f, g, 0.0, cost.entry_rounding())
    term = certify(plan, a, b, cost, epsilon, tolerance=1e-5, iterations=0, regime="sharp")
    lower, upper = transport_bracket(plan, a, b, epsilon, term.primal, 0.0)
    transport, entropic, _ = long_run(x, y, epsilon)
    assert lower - 1e-9 <= transport <= upper + 1e-9
    assert term.dual - 1e-9 <= entropic <= term.primal + 1e-9
    if noise <= 1e-3:
        assert upper - lower <= 0.05 * transport


def test_a_pass_finds_all_near_pairs_however_many_they_are():
    x, y = clouds(4, 300, 280)
    cost = SquaredCost(torch.tensor(x), torch.tensor(y), torch.float64)
    rng = np.random.default_rng(0)
    f, g = (torch.tensor(rng.normal(size=side)) for side in cost.shape)
    costs = cost.tile(slice(0, 300))
    for reach in (0.5, float("inf")):  # the second: more than the arrays hold at first
        found = near_pairs(Panels(cost, 0), f, g, reach, 300 * 280)
        wanted = (costs - f[:, None] - g < reach).view(-1).nonzero()[:, 0].numpy()
        np.testing.assert_array_equal(found.linear, wanted)
        np.testing.assert_allclose(found.costs, costs.view(-1).numpy()[wanted], atol=1e-12)
        assert near_pairs(Panels(cost, 0), f, g, reach, len(wanted) - 1) is None


def test_column_generation_finds_the_optimum_from_a_bad_support():
    x, y = clouds(4, 80, 70)
    cost = SquaredCost(torch.tensor(x), torch.tensor(y))
    panels = Panels(cost, 1 << 30)
    zero = torch.zeros(80, dtype=torch.float64), torch.zeros(70, dtype=torch.float64)
    nearest = near_pairs(panels, *zero, 0.5, 10_000)
    assert 0 < len(nearest) < 300
    plan = transport_by_columns(panels, nearest, ot.unif(80), ot.unif(70), 1e-10)
    exact = ot.emd2(ot.unif(80), ot.unif(70), ot.dist(x, y))
    assert plan.reserve < 1e-12
    assert plan.f.mean() + plan.g.mean() == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 20), (60, 50), (600, 550)])
def test_exact_transport_is_that_of_pot(n, m):
    x, y = clouds(5, n, m, d=8)
    result = exact_transport(x, y)
    plan, log = ot.emd(ot.unif(n), ot.unif(m), ot.dist(x, y), log=True)
    assert result.value == pytest.approx(log["cost"], rel=1e-6)
    assert result.gap < 1e-6
    assert result.column_costs == pytest.approx((plan * ot.dist(x, y)).sum(axis=0), rel=1e-5)
    assert result.row_costs.sum() == pytest.approx(result.value, rel=1e-12)


def test_exact_transport_refuses_what_it_cannot_hold():
    with pytest.raises(UsageError, match="10000 samples"):
        exact_transport(np.zeros((10_001, 1)), np.zeros((2, 1)))


def test_merging_keeps_order_weights_and_shares():
    points = torch.tensor([[1.0], [2.0], [1.0], [3.0], [2.0], [1.0]])
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64) / 21
    cloud = merge_duplicates(points, weights)
    assert cloud.points[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert (21 * cloud.weights).tolist() == pytest.approx([10.0, 7.0, 4.0])
    shared = cloud.divide(np.array([10.0, 7.0, 4.0]))
    assert shared.tolist() == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


@pytest.mark.parametrize(
    ("scale", "score", "transport", "first"),
    [  # as otadtk 0.1.2 printed them
        (0.3, 0.49722662568092346, 0.549623966217041, [0.01233633, 0.01753701, 0.01310359]),
        (2.0, 20.99615478515625, 20.99615478515625, [0.43288890, 0.35981324, 0.23500580]),
        (12.0, 666.73095703125, 666.73095703125, [17.1569424, 11.7807817, 17.8103180]),
    ],
)
def test_the_published_arithmetic(scale, score, transport, first):
    random = np.random.RandomState(7)
    x = (random.randn(40, 6) * scale).astype(np.float32)
    y = ((random.randn(30, 6) + 0.5) * scale).astype(np.float32)
    result = sinkhorn_divergence(x, y, compat=COMPAT)
    assert result.value == pytest.approx(score, abs=1e-5 * transport)
    assert result.cj[:3].tolist() == pytest.approx(first, rel=1e-4)
    assert result.compat == COMPAT
    assert any(COMPAT in note for note in result.notes)
    # its certificate is ours: unconverged where it was
    truth = sinkhorn_divergence(x, y)
    assert abs(truth.xy.value - result.xy.value) <= result.xy.value_error + 1e-4 * transport
    assert result.xy.converged == (scale == 0.3)


@pytest.mark.parametrize("scale", [0.3, 1.0, 40.0])
@pytest.mark.parametrize("repeated", [False, True])
def test_shares_are_the_columns_of_the_plan(scale, repeated):
    """Against the plan written out, in every regime, with and without repeated points."""
    x, y = clouds(3, n=30, m=25, scale=scale)
    if repeated:
        x[5:9], y[3] = x[4], y[2]
    result = sinkhorn_divergence(x, y, potentials=True)
    f, g = result.xy.potentials
    cost = np.square(x[:, None] - y[None]).sum(axis=2)
    plan = np.exp((f[:, None] + g - cost) / 0.1) / cost.size
    for j in (0, 3, 24):
        assert result.shares(j) == pytest.approx(plan[:, j] * len(y), abs=1e-4)
    exact = exact_transport(x, y)
    shares = np.stack([exact.shares(j) for j in range(len(y))], axis=1)
    assert shares.sum(axis=0) == pytest.approx(np.ones(len(y)))
    assert shares.mean(axis=1) == pytest.approx(np.full(len(x), 1 / len(x)))
    assert (shares * cost).mean(axis=1).sum() == pytest.approx(exact.value)


def test_weights_that_float32_cannot_hold():
    """Scalings of a far point reach 1e35, and the weights have their squares."""
    x, y = torch.tensor([[0.0], [1.0], [8.7]]), torch.tensor([[0.0], [0.5]])
    kernel = PanelKernel(SquaredCost(x, y), 1.0, 1 << 20, 1 << 20)
    weights = torch.tensor([1.0, 2.0, 1e65], dtype=torch.float64)
    v = torch.tensor([1.0, 3.0], dtype=torch.float64)
    entries = torch.stack([kernel.apply(row) for row in torch.eye(2, dtype=torch.float64)], dim=1)
    found = kernel.apply_both(v, weights)
    expected = entries.T @ (weights * (entries @ v))
    assert found.isfinite().all()
    assert torch.allclose(found, expected, rtol=1e-5)
