"""Closed forms and properties of the Sinkhorn divergence in every regime."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch
from hypothesis import example, given, settings

from otadtk.distances.transport.sinkhorn import sinkhorn_coupling, sinkhorn_divergence
from otadtk.errors import UsageError

from .clouds import clouds, dimensions, long_run, scales, seeds, sizes

quick = settings(max_examples=25, deadline=None)


@quick
@given(seeds, sizes, dimensions, scales)
def test_a_set_is_at_distance_zero_from_itself(seed, n, d, scale):
    x, _ = clouds(seed, n=n, d=d, scale=scale)
    result = sinkhorn_divergence(x, x.copy())
    assert result.value == 0.0
    assert result.converged


@quick
@given(seeds, sizes, sizes, dimensions, scales)
def test_the_divergence_is_symmetric(seed, n, m, d, scale):
    x, y = clouds(seed, n, m, d, scale)
    there, back = sinkhorn_divergence(x, y), sinkhorn_divergence(y, x)
    bound = there.error_bar + back.error_bar + 1e-9 * there.xy.value
    assert abs(there.value - back.value) <= bound
    assert bound <= 1e-3 * there.xy.value + 1e-3


@quick
@given(seeds, sizes, sizes, dimensions, scales)
@example(1506, 21, 9, 5, 60.0)  # few points far apart: rounding in C_ii times a large mean cost
def test_the_entropic_divergence_is_not_negative(seed, n, m, d, scale):
    x, y = clouds(seed, n, m, d, scale, shift=0.0)
    result = sinkhorn_divergence(x, y, divergence="entropic")
    assert result.converged
    assert result.value >= -result.error_bar - 1e-9 * result.xy.value


@quick
@given(seeds, sizes, dimensions, scales)
@example(3, 22, 1, 1.0)  # one point that hardly exchanges mass with the others
def test_a_translation_costs_its_squared_length_at_every_epsilon(seed, n, d, scale):
    x, _ = clouds(seed, n=n, d=d, scale=scale)
    step = scale * np.random.default_rng(seed).normal(size=d)
    for kind in ("sharp", "entropic"):
        result = sinkhorn_divergence(x, x + step, divergence=kind)
        assert result.value == pytest.approx(step @ step, abs=result.error_bar + 1e-7 * scale**2)
        assert result.error_bar <= 1e-3 * scale**2 + 1e-3


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 10.0])
def test_two_diracs(epsilon):
    result = sinkhorn_divergence([[0.0, 1.0]], [[3.0, 5.0]], epsilon=epsilon)
    assert result.value == pytest.approx(25.0, rel=1e-12)
    assert result.cj.tolist() == pytest.approx([25.0])


@pytest.mark.parametrize(("n", "m"), [(1, 30), (30, 1), (2, 60), (60, 3)])
@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_one_or_few_points_against_many(n, m, scale):
    x, y = clouds(3, n, m, scale=scale)
    result = sinkhorn_divergence(x, y)
    exact = ot.emd2(ot.unif(n), ot.unif(m), ot.dist(x, y))
    assert result.converged
    assert exact - result.xy.value_error <= result.xy.value <= exact + 0.1 * np.log(n * m)
    if 1 in (n, m):  # the only plan there is
        assert result.xy.value == pytest.approx(float(ot.dist(x, y).mean()), rel=1e-6)


def test_small_epsilon_is_exact_transport():
    x, y = clouds(1, 50, 60)
    exact = ot.emd2(ot.unif(50), ot.unif(60), ot.dist(x, y))
    result = sinkhorn_divergence(x, y, epsilon=1e-4)
    assert result.xy.regime == "sharp"
    assert result.xy.value == pytest.approx(exact, rel=1e-4)
    assert result.value == pytest.approx(exact, rel=1e-4)


def test_large_epsilon_is_the_squared_difference_of_the_means():
    x, y = clouds(2, 50, 60)
    difference = x.mean(axis=0) - y.mean(axis=0)
    result = sinkhorn_divergence(x, y, epsilon=1e6)
    assert result.value == pytest.approx(difference @ difference, rel=1e-3)


@quick
@given(seeds, sizes, sizes, scales)
def test_the_order_of_the_samples_does_not_matter(seed, n, m, scale):
    x, y = clouds(seed, n, m, scale=scale)
    shuffle = np.random.default_rng(seed).permutation(m)
    one, other = sinkhorn_divergence(x, y), sinkhorn_divergence(x, y[shuffle])
    tolerance = one.error_bar + other.error_bar + 1e-9 * one.xy.value
    assert abs(one.value - other.value) <= tolerance
    assert other.cj == pytest.approx(one.cj[shuffle], abs=2 * tolerance)


@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_duplicates_are_weights(scale):
    x, y = clouds(4, 20, 15, scale=scale)
    repeated = np.concatenate([y, y[:5], y[:5]])
    weights = np.where(np.arange(15) < 5, 3.0, 1.0)
    by_copies = sinkhorn_divergence(x, repeated)
    by_weights = sinkhorn_divergence(x, y, weights_y=weights)
    assert by_copies.value == pytest.approx(by_weights.value, rel=1e-9)
    assert by_copies.cj[:5] == pytest.approx(by_copies.cj[15:20], rel=1e-12)
    assert 3 * by_copies.cj[:5] == pytest.approx(by_weights.cj[:5], rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 30.0])  # a smooth problem and a sharp one
def test_the_coupling_alone_is_that_of_the_divergence(
    scale: float, rng: np.random.Generator
) -> None:
    x, y = (scale * rng.normal(size=(n, 4)) for n in (40, 30))
    y[20:] = y[20]
    alone, term = sinkhorn_coupling(x, y, epsilon=0.1), sinkhorn_divergence(x, y, epsilon=0.1).xy
    assert alone.value == term.value
    assert np.array_equal(alone.column_costs, term.column_costs)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["sharp", "entropic"])
def test_the_error_bar_covers_a_long_float64_run(scale, kind):
    x, y = clouds(5, 60, 50, scale=scale)
    result = sinkhorn_divergence(x, y, divergence=kind)
    index = 0 if kind == "sharp" else 1
    xy, xx, yy = (long_run(p, q, 0.1)[index] for p, q in ((x, y), (x, x), (y, y)))
    truth = xy - 0.5 * (xx + yy)
    assert abs(result.value - truth) <= result.error_bar + 1e-8
    assert result.error_bar <= 2e-3 * xy
    for term, value in ((result.xy, xy), (result.xx, xx), (result.yy, yy)):
        if kind == "entropic":
            assert term.dual - 1e-8 <= value <= term.primal + 1e-8


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_the_error_bar_covers_the_rounding_of_float32_costs_too(monkeypatch, scale):
    monkeypatch.setattr("otadtk.distances.costs.squared._DOUBLE_LIMIT", 0)
    x, y = (points.astype(np.float32) for points in clouds(15, 60, 50, d=40, scale=scale / 3))
    result = sinkhorn_divergence(x, y)
    wide = x.astype(float), y.astype(float)
    pairs = (wide, (wide[0], wide[0]), (wide[1], wide[1]))
    xy, xx, yy = (long_run(*pair, 0.1)[0] for pair in pairs)
    assert abs(result.value - (xy - 0.5 * (xx + yy))) <= result.error_bar <= 2e-3 * xy
    for term, truth in ((result.xy, xy), (result.xx, xx), (result.yy, yy)):
        assert abs(term.value - truth) <= term.value_error


@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [0.3, 0.7, 2.0])
def test_the_error_bar_covers_the_truth_when_stopped_early_too(iterations, scale):
    x, y = clouds(6, 60, 50, scale=scale)
    result = sinkhorn_divergence(x, y, max_iterations=iterations)
    truth = long_run(x, y, 0.1)
    if iterations < 3:
        assert not result.converged
        assert "Not converged" in result.notes[-1]
    assert abs(result.xy.value - truth[0]) <= result.xy.value_error
    assert result.xy.dual <= truth[1] <= result.xy.primal


@pytest.mark.parametrize("multiple", [1 / 20, 1 / 40])
def test_sets_that_share_most_of_their_clips_converge(multiple):
    """Twins hardly exchange mass with the rest, so that sweeps creep."""
    rng = np.random.default_rng(0)
    spread = np.exp(rng.normal(size=(800, 1)))
    x = (spread * rng.normal(size=(800, 8)) @ rng.normal(size=(8, 256))).astype(np.float32)
    y = x.copy()
    y[:40] = x[rng.permutation(800)[:40]]
    result = sinkhorn_divergence(x, y, epsilon=multiple, epsilon_scale="mean_cost")
    assert result.converged
    finer = sinkhorn_divergence(x, y, epsilon=result.epsilon, tolerance=1e-7)
    assert result.value == pytest.approx(finer.value, abs=result.error_bar)


@pytest.mark.parametrize("freedom", [1.5, 2.0])
def test_a_dense_set_with_points_far_away_converges(freedom):
    """Heavy tails in three directions: most pairs are within ε, some ten thousand ε away."""
    rng = np.random.default_rng(2)
    directions = rng.normal(size=(3, 64))
    x = rng.standard_t(freedom, size=(800, 3)) @ directions
    other = rng.standard_t(freedom, size=(80, 3)) @ directions
    y = np.concatenate([x[:720], other])
    cost = np.square(x[:200, None] - y[None, :200]).sum(axis=2)
    found = sinkhorn_divergence(x, y, epsilon=cost.mean() / 30)
    assert found.converged
    assert found.error_bar < 3e-3 * found.value


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_costs_per_sample(scale):
    x, y = clouds(7, 60, 50, scale=scale)
    result = sinkhorn_divergence(x, y)
    assert result.cj.shape == (50,)
    assert result.reference_costs.shape == (60,)
    assert result.cj.sum() == pytest.approx(result.xy.value, rel=1e-9)
    assert result.reference_costs.sum() == pytest.approx(result.xy.value, rel=1e-6)
    truth = long_run(x, y, 0.1)[2]
    assert result.cj == pytest.approx(truth, rel=1e-3, abs=1e-5 * truth.max())


def test_weights_move_the_answer_as_they_should():
    x, y = clouds(8, 30, 20, scale=10.0)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, size=20)
    result = sinkhorn_divergence(x, y, weights_y=weights)
    exact = ot.emd2(ot.unif(30), weights / weights.sum(), ot.dist(x, y))
    assert result.xy.value == pytest.approx(exact, rel=1e-3)


def test_float32_inputs_with_a_large_common_offset():
    rng = np.random.default_rng(9)
    offset = rng.normal(size=64)
    offset *= 200.0 / np.linalg.norm(offset)
    x = (offset + 0.05 * rng.normal(size=(700, 64))).astype(np.float32)
    y = (offset + 0.05 * rng.normal(size=(700, 64)) + 0.01).astype(np.float32)
    narrow = sinkhorn_divergence(np.tile(x, (1, 8)), np.tile(y, (1, 8)))  # 700·700·512 > 2²⁷
    wide = sinkhorn_divergence(np.sqrt(8) * x.astype(float), np.sqrt(8) * y.astype(float))
    assert narrow.value == pytest.approx(wide.value, rel=1e-4)


@pytest.mark.parametrize("scale", ["mean_cost", "median_cost"])
def test_epsilon_relative_to_the_costs(scale):
    x, y = clouds(10, scale=30.0)
    result = sinkhorn_divergence(x, y, epsilon=0.05, epsilon_scale=scale)
    costs = ot.dist(x, y)
    expected = costs.mean() if scale == "mean_cost" else np.median(costs)
    assert result.epsilon == pytest.approx(0.05 * expected, rel=1e-2)
    scaled = sinkhorn_divergence(7 * x, 7 * y, epsilon=0.05, epsilon_scale=scale)
    assert scaled.value == pytest.approx(49 * result.value, rel=1e-4)


def test_the_note_on_debiasing_that_does_nothing():
    x, y = clouds(11, scale=30.0)
    assert any("--epsilon-scale" in note for note in sinkhorn_divergence(x, y).notes)
    assert sinkhorn_divergence(x, y, epsilon=0.1, epsilon_scale="mean_cost").notes == ()


def test_potentials_on_request_and_progress():
    x, y = clouds(12)
    calls = []
    result = sinkhorn_divergence(x, y, potentials=True, progress=lambda *call: calls.append(call))
    f, g = result.xy.potentials
    assert f.mean() + g.mean() == pytest.approx(result.xy.dual, rel=1e-5)
    assert {call[0] for call in calls} == {"xx", "yy", "xy"}
    assert sinkhorn_divergence(x, y).xy.potentials is None


def test_tensors_and_arrays_are_alike():
    x, y = clouds(13)
    of_arrays = sinkhorn_divergence(x, y).value
    of_tensors = sinkhorn_divergence(torch.tensor(x, requires_grad=True), torch.tensor(y)).value
    assert of_arrays == of_tensors


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([[np.nan, 0.0]], [[0.0, 0.0]]), "NaN"),
        (([[0.0]], [[np.inf]]), "infinite"),
        ((np.empty((0, 3)), np.zeros((2, 3))), "empty"),
        ((np.zeros((2, 3)), np.zeros((2, 4))), "dimension"),
        ((np.zeros(3), np.zeros((2, 3))), "shape"),
        ((np.zeros((2, 3), dtype=complex), np.zeros((2, 3))), "real"),
    ],
)
def test_bad_sets_are_refused(arguments, complaint):
    with pytest.raises(UsageError, match=complaint):
        sinkhorn_divergence(*arguments)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"divergence": "blunt"}, "divergence"),
        ({"epsilon_scale": "max"}, "epsilon_scale"),
        ({"compat": "0.1.1"}, "compat"),
        ({"weights_x": [1.0]}, "weights_x"),
        ({"weights_y": [1.0, -1.0, 1.0]}, "weights_y"),
    ],
)
def test_bad_options_are_refused(options, complaint):
    with pytest.raises(UsageError, match=complaint):
        sinkhorn_divergence(np.eye(3), 2 * np.eye(3), **options)
