"""Floors, intervals, limits and differences: right on average, reproducible, refused if empty."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.distances.subsets import frechet_between, kernel_between, transport_between
from otadtk.distances.transport.couplings import TransportSettings
from otadtk.engine import LocalEngine
from otadtk.errors import UsageError
from otadtk.statistics.resampling import SubsetDistance

from .on_one_thread import extrapolate, jackknife_interval, permutation_floor

BETWEEN = {
    "OTAD": lambda pool: transport_between(pool, TransportSettings(epsilon=2.0)),
    "FAD": frechet_between,
    "KAD": kernel_between,
}


def between(name: str, *sets: np.ndarray) -> SubsetDistance:
    return BETWEEN[name](np.concatenate(sets))


@pytest.mark.parametrize("name", BETWEEN)
def test_floor_tells_equal_from_different(name: str, rng: np.random.Generator) -> None:
    x, same = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    other = 1.5 + rng.normal(size=(30, 3))
    for y, different in ((same, False), (other, True)):
        distance = between(name, x, y)
        observed = distance(np.arange(40), 40 + np.arange(30))
        floor = permutation_floor(distance, 40, 30, replicates=60)
        assert floor.low <= floor.mean <= floor.high
        assert (floor.p_value < 0.03) == different
        assert (observed > floor.high) == different
        assert floor.mean == pytest.approx(np.mean(floor.scores))


def test_the_floor_is_what_two_samples_of_one_distribution_score() -> None:
    """Permutations of one pair against fresh pairs of samples, which a user does not have."""
    rng = np.random.default_rng(5)
    fresh = []
    for _ in range(150):
        distance = between("FAD", rng.normal(size=(50, 4)), rng.normal(size=(40, 4)))
        fresh.append(distance(np.arange(50), 50 + np.arange(40)))
    floor = permutation_floor(distance, 50, 40)
    assert floor.mean == pytest.approx(np.mean(fresh), rel=0.15)
    assert floor.deviation == pytest.approx(np.std(fresh), rel=0.35)


def test_rough_scores_near_the_observed_one_are_computed_exactly() -> None:
    """P is that of exact scores, although many draws at once are rough: no two of these are equal."""

    class Rough:
        margin, at_once = 0.02, 50

        def __init__(self) -> None:
            self.solved = 0
            self._noise = np.random.default_rng(1)

        def __call__(self, i: np.ndarray, j: np.ndarray) -> float:
            return self.many([(i, j)])[0]

        def many(self, draws: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
            return [self._score(i) + self._noise.uniform(-0.02, 0.02) for i, _ in draws]

        def exactly(self, i: np.ndarray, j: np.ndarray) -> float:
            self.solved += 1
            return self._score(i)

        @staticmethod
        def _score(i: np.ndarray) -> float:
            return float((i % 3 == 0).sum() / 10)  # many draws score the same

    rough = Rough()
    exact = permutation_floor(lambda i, j: Rough._score(i), 20, 20)
    assert permutation_floor(rough, 20, 20).p_value == exact.p_value
    assert 1 < rough.solved < 100


def test_ratio_needs_a_floor_above_zero(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    fad = permutation_floor(between("FAD", x, y), 30, 30, replicates=40)
    assert fad.ratio(3.0) == pytest.approx(3.0 / fad.mean)
    assert permutation_floor(between("KAD", x, y), 30, 30, replicates=40).ratio(3.0) is None


def test_p_value_is_uniform_under_the_null() -> None:
    rng = np.random.default_rng(1)
    values = []
    for seed in range(200):
        distance = between("FAD", rng.normal(size=(12, 2)), rng.normal(size=(12, 2)))
        values.append(permutation_floor(distance, 12, 12, replicates=39, seed=seed).p_value)
    assert abs(np.mean(values) - 0.5) < 0.08
    assert np.mean(np.array(values) <= 0.05) < 0.11


def test_the_same_clips_on_both_sides_are_not_told_apart(rng: np.random.Generator) -> None:
    x = rng.normal(size=(20, 3))
    for name in BETWEEN:
        assert permutation_floor(between(name, x, x), 20, 20, replicates=30).p_value > 0.9


@pytest.mark.parametrize(("name", "runs"), [("FAD", 200), ("KAD", 200), ("OTAD", 40)])
def test_interval_covers_the_expected_score(name: str, runs: int) -> None:
    """Coverage between 90 % and 98 %; benchmarks/floors.py has 200 runs of each."""
    rng = np.random.default_rng(2)
    n = 60 if runs == 200 else 20

    def draw() -> SubsetDistance:
        return between(name, rng.normal(size=(n, 3)), 0.5 + 1.3 * rng.normal(size=(n, 3)))

    everyone = np.arange(n), n + np.arange(n)
    expected = np.mean([draw()(*everyone) for _ in range(4 * runs)])
    hits = 0
    for seed in range(runs):
        interval = jackknife_interval(draw(), n, n, groups=6, seed=seed)
        hits += interval.low <= expected <= interval.high
    assert 0.9 * runs <= hits <= 0.98 * runs


def test_limit_of_same_distribution_scores_is_below_them(rng: np.random.Generator) -> None:
    """FAD between samples of one distribution falls as 1/N; the fit sees through it."""
    distance = between("FAD", rng.normal(size=(300, 8)), rng.normal(size=(300, 8)))
    limit = extrapolate(distance, 300, 300)
    assert limit.r_squared > 0.6
    assert abs(limit.value) < 0.5 * distance(np.arange(300), 300 + np.arange(300))
    assert limit.sizes[-1] == 300


def test_a_size_of_the_limit_is_the_mean_of_disjoint_subsets() -> None:
    drawn: list[tuple[int, ...]] = []

    def distance(i: np.ndarray, j: np.ndarray) -> float:
        assert i.max() < 30 <= j.min()
        drawn.append(tuple(i))
        return 2.0 + 3.0 / len(i) + 0.1 * (-1) ** len(drawn)

    limit = extrapolate(distance, 30, 40)
    sizes = [len(draw) for draw in drawn]
    assert [sizes.count(size) for size in limit.sizes] == [30 // size for size in limit.sizes]
    assert len({clip for draw in drawn if len(draw) == 6 for clip in draw}) == 30
    assert limit.scores[0] == pytest.approx(2.5 - 0.1 / 5)
    assert abs(limit.value - 2.0) < 0.2


def test_limit_of_scores_that_do_not_change() -> None:
    limit = extrapolate(lambda i, j: 0.0, 20, 20)
    assert (limit.value, limit.r_squared) == (0.0, 0.0)


def test_seed_and_workers(rng: np.random.Generator) -> None:
    distance = between("FAD", rng.normal(size=(30, 3)), rng.normal(size=(30, 3)))
    one = permutation_floor(distance, 30, 30, replicates=20, seed=3)
    assert permutation_floor(distance, 30, 30, replicates=20, seed=3, engine=LocalEngine(2)) == one
    assert permutation_floor(distance, 30, 30, replicates=20, seed=4) != one


def test_too_few_clips_are_refused() -> None:
    distance = between("FAD", np.zeros((4, 2)), np.zeros((4, 2)))
    with pytest.raises(UsageError, match="at least 6 clips"):
        jackknife_interval(distance, 4, 4)
    with pytest.raises(UsageError, match="at least 6 clips"):
        extrapolate(distance, 4, 4)
    for refused in (permutation_floor, jackknife_interval, extrapolate):
        with pytest.raises(UsageError, match="seed must be at least 0"):
            refused(distance, 4, 4, seed=-1)
    with pytest.raises(UsageError, match="replicates must be at least 1"):
        permutation_floor(distance, 4, 4, replicates=0)
