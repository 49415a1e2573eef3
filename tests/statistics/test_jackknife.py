"""The variance of a score, by leaving out groups: where the jackknife counts twice, it is halved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import stdtrit

from otadtk.engine import LocalEngine
from otadtk.statistics.differences import jackknife_difference
from otadtk.statistics.jackknife import JackknifeVariance, limits, slope_of_difference, variance_of
from otadtk.statistics.resampling import Interval, SubsetDistance

from .on_one_thread import jackknife_interval

DIMENSIONS = 200


def mean_difference(pool: np.ndarray) -> SubsetDistance:
    """Linear: every clip adds up."""
    return lambda i, j: float((pool[j].mean(axis=0) - pool[i].mean(axis=0)).sum())


def squared_mean(points: np.ndarray) -> float:
    """‖E x‖², unbiased: the mean of ⟨x, x'⟩ over all pairs; between centred clips nothing but pairs."""
    n, total = len(points), points.sum(axis=0)
    return float((total @ total - (points**2).sum()) / (n * (n - 1)))


def pairs_of_the_reference(pool: np.ndarray) -> SubsetDistance:
    return lambda i, j: squared_mean(pool[i])


def pairs_of_the_evaluated(pool: np.ndarray) -> SubsetDistance:
    return lambda i, j: squared_mean(pool[j])


def pairs_between(pool: np.ndarray) -> SubsetDistance:
    return lambda i, j: float(pool[i].mean(axis=0) @ pool[j].mean(axis=0))


def unbiased_distance(pool: np.ndarray) -> SubsetDistance:
    """‖E x − E y‖², unbiased, as KAD of a linear kernel."""
    x, y, both = (f(pool) for f in (pairs_of_the_reference, pairs_of_the_evaluated, pairs_between))
    return lambda i, j: x(i, j) + y(i, j) - 2.0 * both(i, j)


def spread_behind(interval: Interval) -> JackknifeVariance:
    return variance_of(interval.score, interval.without)


def test_a_mean_is_left_as_it_is(rng: np.random.Generator) -> None:
    interval = jackknife_interval(mean_difference(rng.normal(size=(100, 3))), 60, 40)
    seen = spread_behind(interval).seen
    sides = (interval.without.reference.groups, interval.without.evaluated.groups)
    assert seen == pytest.approx(sum(19 * np.var(side) for side in sides))
    assert spread_behind(interval).twice == pytest.approx(0.0, abs=1e-20)
    reach = stdtrit(38, 0.975) * seen**0.5
    assert interval.deviation == pytest.approx(seen**0.5)
    assert (interval.low, interval.high) == pytest.approx(
        (interval.score - reach, interval.score + reach)
    )


@pytest.mark.parametrize(
    ("statistic", "variance"),
    [
        (pairs_of_the_reference, 2 * DIMENSIONS / (40 * 39)),
        (pairs_of_the_evaluated, 2 * DIMENSIONS / (60 * 59)),
        (pairs_between, DIMENSIONS / (40 * 60)),
        (unbiased_distance, DIMENSIONS * (2 / (40 * 39) + 2 / (60 * 59) + 4 / (40 * 60))),
    ],
)
def test_pairs_are_counted_once(
    statistic: Callable[[np.ndarray], SubsetDistance], variance: float
) -> None:
    rng, runs = np.random.default_rng(6), 150
    pools = (rng.normal(size=(100, DIMENSIONS)) for _ in range(runs))
    found = [jackknife_interval(statistic(pool), 40, 60, seed=k) for k, pool in enumerate(pools)]
    assert np.var([interval.score for interval in found]) == pytest.approx(variance, rel=0.3)
    spreads = [spread_behind(interval) for interval in found]
    # with 20 groups the plain jackknife sees between 2 and 2·19/18 times the variance
    assert np.mean([s.seen for s in spreads]) == pytest.approx(2.05 * variance, rel=0.08)
    assert np.mean([s.seen - s.twice for s in spreads]) == pytest.approx(variance, rel=0.1)
    # never less than half of what is seen, which is too much where little is seen by chance
    deviation = np.sqrt(np.mean([interval.deviation**2 for interval in found]))
    assert deviation == pytest.approx(variance**0.5, rel=0.15)


@pytest.mark.parametrize("paired", [False, True])
def test_differences_count_pairs_once(paired: bool) -> None:
    rng, runs, n = np.random.default_rng(7), 150, 40
    correlation = 0.5**0.5 if paired else 0.0
    deviations, values = [], []
    for seed in range(runs):
        x, y, z = rng.normal(size=(3, n, DIMENSIONS))
        z = correlation * y + (1 - correlation**2) ** 0.5 * z
        first, second = (
            jackknife_interval(unbiased_distance(np.concatenate([x, side])), n, n, seed=seed)
            for side in (y, z)
        )
        difference = jackknife_difference(first, second, paired=paired)
        values.append(difference.value)
        deviations.append(difference.deviation)
    # the pairs of reference clips cancel; those of the evaluated clips and those between do in part
    variance = 4 * DIMENSIONS * (1 - correlation**2) / (n * (n - 1))
    variance += 8 * DIMENSIONS * (1 - correlation) / n**2
    assert np.var(values) == pytest.approx(variance, rel=0.3)
    assert np.sqrt(np.mean(np.square(deviations))) == pytest.approx(variance**0.5, rel=0.15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_limits_are_where_the_score_is_as_far_as_its_variance_there(sign: float) -> None:
    t, score, spread = float(stdtrit(38, 0.975)), 5.0, JackknifeVariance(1.2, 0.2)
    slope = sign * spread.slope
    low, high = limits(score, spread, slope, 38)
    for limit in (low, high):
        there = spread.variance_at(limit - score, slope)
        assert there == pytest.approx(1.0 + sign * (8 * 0.2 / 64) ** 0.5 * (limit - score))
        assert (score - limit) ** 2 == pytest.approx(t**2 * there)
    assert np.sign(high + low - 2 * score) == sign


def test_no_variance_is_below_that_of_the_interactions() -> None:
    t, spread = float(stdtrit(38, 0.975)), JackknifeVariance(2.0, 1.5)
    assert (spread.interactions, spread.variance) == (1.0, 1.0)
    low, high = limits(5.0, spread, spread.slope, 38)
    assert 5.0 - low == pytest.approx(t)
    assert high - 5.0 > 1.2 * t


def test_the_variance_of_a_difference_rises_with_the_higher_score() -> None:
    near, far, nothing = (
        JackknifeVariance(1.0, 0.2),
        JackknifeVariance(5.0, 0.4),
        JackknifeVariance(0.0, 0.0),
    )
    whole = JackknifeVariance(6.0, 0.6)
    assert slope_of_difference(far, near, whole) == -slope_of_difference(near, far, whole) > 0
    assert slope_of_difference(near, near, whole) == 0.0
    assert slope_of_difference(nothing, nothing, nothing) == 0.0
    assert slope_of_difference(far, nothing, far) == far.slope
    half = JackknifeVariance(3.0, 0.3)  # the rest cancels
    assert slope_of_difference(far, near, half) == 0.5 * slope_of_difference(far, near, whole)


@pytest.mark.parametrize("n", [6, 7, 8, 15])
def test_few_clips_and_unequal_sides(n: int, rng: np.random.Generator) -> None:
    taken: list[tuple[int, int]] = []
    distance = unbiased_distance(rng.normal(size=(n + 12, DIMENSIONS)))

    def watched(i: np.ndarray, j: np.ndarray) -> float:
        assert i.max() < n <= j.min()
        taken.append((len(set(i)), len(set(j))))
        return distance(i, j)

    interval = jackknife_interval(watched, n, 12)
    assert interval.low < interval.score < interval.high
    groups = min(n // 2, 20)
    pairs = groups // 2 if groups > 3 else 0
    assert len(interval.without.reference.groups) == groups
    assert len(interval.without.reference.pairs) == pairs
    assert len(interval.without.both) == max(groups, 6)
    assert len(taken) == 1 + interval.without.count == 1 + groups + pairs + 6 + 3 + max(groups, 6)
    assert min(min(sizes) for sizes in taken) >= 4


def test_two_groups_leave_together(rng: np.random.Generator) -> None:
    """The order of the scores is that of the groups that they were taken without."""
    weight = rng.normal(size=50)
    interval = jackknife_interval(lambda i, j: float(weight[i].sum() + weight[j].sum()), 30, 20)
    score, without = interval.score, interval.without
    for side in (without.reference, without.evaluated):
        lost = score - np.array(side.groups)
        assert lost.sum() == pytest.approx(
            weight[:30].sum() if side is without.reference else weight[30:].sum()
        )
        k = len(side.pairs)
        assert score - np.array(side.pairs) == pytest.approx(lost[::2][:k] + lost[1::2][:k])
    x, y = (score - np.array(side.groups) for side in (without.reference, without.evaluated))
    k = np.arange(len(without.both))
    assert score - np.array(without.both) == pytest.approx(x[k % len(x)] + y[k % len(y)])


def test_seed_and_workers(rng: np.random.Generator) -> None:
    distance = unbiased_distance(rng.normal(size=(50, 3)))
    one = jackknife_interval(distance, 30, 20, seed=3)
    assert jackknife_interval(distance, 30, 20, seed=3, engine=LocalEngine(2)) == one
    assert jackknife_interval(distance, 30, 20, seed=4) != one
