"""KAD, the approximations, the gradient, and Eq. (2) of the paper."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings

from otadtk.distances.costs.median import median_distance
from otadtk.distances.costs.pairs import PairDistances
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.transport.approximate import minibatch_divergence, sliced_divergence
from otadtk.distances.transport.exact import exact_transport
from otadtk.distances.transport.gradient import sinkhorn_loss
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.errors import UsageError

from .clouds import clouds, dimensions, fad_of, scales, seeds


def test_kad_needs_two_samples():
    with pytest.raises(UsageError, match="one sample"):
        kernel_distance(np.zeros((1, 3)), np.ones((4, 3)))


def kad_by_hand(x, y, sigma, kernel):
    gamma = 1 / (2 * sigma**2 + 1e-8)
    function = {
        "gaussian": lambda d: np.exp(-gamma * d),
        "iq": lambda d: 1 / (1 + gamma * d),
        "imq": lambda d: (1 + gamma * d) ** -0.5,
    }[kernel]
    xx, yy, xy = (function(ot.dist(p, q)) for p, q in ((x, x), (y, y), (x, y)))
    m, n = len(x), len(y)
    off = (xx.sum() - np.trace(xx)) / (m * (m - 1)) + (yy.sum() - np.trace(yy)) / (n * (n - 1))
    return 100 * (off - 2 * xy.mean())


@pytest.mark.parametrize("kernel", ["gaussian", "iq", "imq"])
@pytest.mark.parametrize("rule", ["eval", "ref", "pooled", 1.7])
def test_kad_is_the_formula(kernel, rule):
    x, y = clouds(2, 60, 45)
    points = {"eval": y, "ref": x, "pooled": np.concatenate([x, y])}.get(rule)
    sigma = rule
    if points is not None:
        distances = np.sort(np.sqrt(ot.dist(points, points)[np.triu_indices(len(points), 1)]))
        sigma = distances[(len(distances) - 1) // 2]
    result = kernel_distance(x, y, bandwidth=rule, kernel=kernel)
    assert result.bandwidth == pytest.approx(sigma, rel=1e-5)
    assert result.value == pytest.approx(kad_by_hand(x, y, sigma, kernel), rel=1e-4)
    plain = kernel_distance(x, y, bandwidth=rule, kernel=kernel, scale=False)
    assert 100 * plain.value == pytest.approx(result.value)


def test_kad_as_published():
    random = np.random.RandomState(7)
    x = (random.randn(40, 6) * 2).astype(np.float32)
    y = ((random.randn(30, 6) + 0.5) * 2).astype(np.float32)
    assert kernel_distance(x, y).value == pytest.approx(6.921231746673584, rel=1e-4)
    assert kernel_distance(x, y, kernel="iq").value == pytest.approx(5.066680908203125, rel=1e-4)
    given_bandwidth = kernel_distance(x, y, kernel="imq", bandwidth=2.0)
    assert given_bandwidth.value == pytest.approx(3.882896900177002, rel=1e-4)


def test_kad_of_one_distribution_is_zero_on_average():
    rng = np.random.default_rng(3)
    values = [
        kernel_distance(rng.normal(size=(40, 3)), rng.normal(size=(40, 3))).value
        for _ in range(200)
    ]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(200)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 1500])
def test_the_median_is_the_lower_one_and_exact(n):
    points = torch.randn(n, 4, generator=torch.Generator().manual_seed(n))
    assert median_distance(PairDistances(points)) == pytest.approx(
        float(torch.pdist(points).median()), rel=1e-6
    )


def test_a_bracket_that_misses_is_widened():
    # sampled rows see two tight clusters; the median lies in the gap's sparse middle
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.normal(size=(1200, 1)) * 0.1, 5 + np.zeros((800, 1))])
    expected = float(torch.pdist(torch.tensor(points)).median())
    assert median_distance(PairDistances(torch.tensor(points))) == pytest.approx(expected, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(seeds, dimensions, scales)
def test_equation_2_of_the_paper(seed, d, scale):
    x, y = clouds(seed, 30, 30, d, scale)
    # Gelbrich for the empirical measures: covariances with 1/N, that is ddof = 0
    shrink = np.sqrt(29 / 30)
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    fad = fad_of(mean_x + shrink * (x - mean_x), mean_y + shrink * (y - mean_y))
    assert fad <= exact_transport(x, y).value * (1 + 1e-6) + 1e-12
    # MMD² ≤ W₁²/σ², with the biased MMD² of the empirical measures
    sigma = scale
    kernels = [np.exp(-ot.dist(p, q) / (2 * sigma**2)).mean() for p, q in ((x, x), (y, y), (x, y))]
    mmd = kernels[0] + kernels[1] - 2 * kernels[2]
    w1 = ot.emd2(ot.unif(30), ot.unif(30), ot.dist(x, y, metric="euclidean"))
    assert mmd <= w1**2 / sigma**2 + 1e-12


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
@pytest.mark.parametrize("scale", [0.5, 5.0])
def test_the_gradient_is_that_of_finite_differences(epsilon, scale):
    x, y = (torch.tensor(points) for points in clouds(5, 7, 9, 3, scale))
    x.requires_grad_(True)
    y.requires_grad_(True)
    sinkhorn_loss(x, y, epsilon=epsilon, tolerance=1e-11).backward()
    step = 1e-5 * scale

    def value(p, q):
        result = sinkhorn_divergence(
            p.detach(), q.detach(), epsilon=epsilon, divergence="entropic", tolerance=1e-11
        )
        return result.value

    for points, gradient, index in ((x, x.grad, (2, 1)), (y, y.grad, (4, 0)), (x, x.grad, (6, 2))):
        change = torch.zeros_like(points)
        change[index] = step
        up = value(x + change, y) if points is x else value(x, y + change)
        down = value(x - change, y) if points is x else value(x, y - change)
        assert float(gradient[index]) == pytest.approx((up - down) / (2 * step), rel=2e-3, abs=1e-5)


def test_the_loss_descends_and_scales():
    x, y = (torch.tensor(points, dtype=torch.float32) for points in clouds(6, 20, 20))
    x.requires_grad_(True)
    optimiser = torch.optim.SGD([x], lr=5.0)
    losses = []
    for _ in range(25):
        optimiser.zero_grad()
        loss = 2 * sinkhorn_loss(x, y, epsilon=0.5)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]


def test_sliced_transport_in_one_dimension_is_exact():
    x, y = clouds(7, 50, 33, d=1)
    result = sliced_divergence(x, y, directions=3)
    exact = ot.emd2_1d(x[:, 0], y[:, 0])
    assert result.coupling == "sliced"
    assert result.value == pytest.approx(exact, rel=1e-6)
    assert result.cj.sum() == pytest.approx(exact, rel=1e-6)
    assert result.reference_costs.sum() == pytest.approx(exact, rel=1e-6)


def test_sliced_transport_of_a_translation():
    x, _ = clouds(8, 40, d=4)
    step = np.array([1.0, 2.0, 0.0, -1.0])
    result = sliced_divergence(x, x + step, directions=2000)
    low, high = result.interval
    # E (θᵀt)² = ‖t‖²/d; the interval is one of 95 %, so allow it twice its width
    assert abs(result.value - step @ step / 4) <= high - low
    assert high - low < 0.2
    assert sliced_divergence(x, x + step, directions=5, seed=1).value != result.value


def test_minibatches_are_seeded_cover_everyone_and_bracket_their_mean():
    x, y = clouds(9, 90, 61)
    one = minibatch_divergence(x, y, batch_size=20, repetitions=2)
    again = minibatch_divergence(x, y, batch_size=20, repetitions=2)
    assert one.value == again.value
    assert one.value != minibatch_divergence(x, y, batch_size=20, repetitions=2, seed=1).value
    assert one.coupling == "minibatch"
    assert one.interval[0] < one.value < one.interval[1]
    assert (one.cj > 0).all()
    assert (one.reference_costs > 0).all()
    whole = minibatch_divergence(x, x + 1.0, batch_size=1000)
    assert whole.value == pytest.approx(5.0, rel=1e-4)
    assert whole.cj.sum() == pytest.approx(sinkhorn_divergence(x, x + 1.0).xy.value, rel=1e-6)


def test_a_set_smaller_than_a_batch_is_taken_whole(rng: np.random.Generator) -> None:
    """2 against 60: not 30 batches of two, whose mean is far above the divergence."""
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(60, 3))
    whole = sinkhorn_divergence(x, y)
    one = minibatch_divergence(x, y, batch_size=1000)
    assert one.repetitions == 1
    assert one.value == pytest.approx(whole.value)
    np.testing.assert_allclose(one.cj, whole.cj)
    np.testing.assert_allclose(one.reference_costs, whole.reference_costs)
    assert minibatch_divergence(x, y, batch_size=20).repetitions == 3
