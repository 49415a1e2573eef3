"""Differences of scores against one reference: right on average, reproducible, paired if asked."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.engine import LocalEngine
from otadtk.errors import UsageError
from otadtk.statistics.differences import (
    Difference,
    bootstrap_difference,
    jackknife_difference,
)
from otadtk.statistics.resampling import SubsetDistance

from .on_one_thread import bootstrap_scores, jackknife_interval
from .test_resampling import BETWEEN, between


def by_bootstrap(
    distance: SubsetDistance, n: int, *, paired: bool = False, replicates: int = 200
) -> Difference:
    x = np.arange(n)
    value = distance(x, n + x) - distance(x, 2 * n + x)
    first, second = bootstrap_scores(distance, n, (n, n), paired=paired, replicates=replicates).T
    return bootstrap_difference(value, first, second)


def by_jackknife(distance: SubsetDistance, n: int, *, paired: bool = False) -> Difference:
    first, second = (
        jackknife_interval(lambda i, j, s=shift: distance(i, j + s), n, n) for shift in (0, n)
    )
    return jackknife_difference(first, second, paired=paired)


@pytest.mark.parametrize("by", [by_bootstrap, by_jackknife])
def test_pairs_make_a_difference_surer(by, rng: np.random.Generator) -> None:
    reference, a = rng.normal(size=(60, 3)), 0.3 + rng.normal(size=(60, 3))
    distance = between("FAD", reference, a, a + 0.3)
    loose, tight = by(distance, 60), by(distance, 60, paired=True)
    assert loose.value == tight.value
    assert tight.deviation < 0.7 * loose.deviation
    assert tight.low < tight.value < tight.high < 0 < tight.probability - 0.99


def test_a_common_reference_makes_a_difference_surer(rng: np.random.Generator) -> None:
    reference, a, b = (shift + rng.normal(size=(60, 3)) for shift in (0.0, 1.0, 1.2))
    distance = between("FAD", reference, a, b)
    first, second = bootstrap_scores(distance, 60, (60, 60)).T
    together = bootstrap_difference(0.0, first, second).deviation
    assert together < 0.9 * np.hypot(first.std(), second.std())
    assert together == pytest.approx(by_jackknife(distance, 60).deviation, rel=0.4)


def test_both_ways_round(rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(2, 100))
    there, back = (
        bootstrap_difference(0.3, first, second),
        bootstrap_difference(-0.3, second, first),
    )
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
    assert back.probability == pytest.approx(1.0 - there.probability)
    assert bootstrap_difference(0.0, first, first).probability == 0.5
    assert bootstrap_difference(-9.0, first, second).shown_probability == "> 0.990"
    assert bootstrap_difference(9.0, first, second).shown_probability == "< 0.010"
    assert there.shown_probability == f"{there.probability:.3f}"


def test_what_drawing_adds_is_taken_off(rng: np.random.Generator) -> None:
    """Drawn with replacement a larger and a smaller set are biased unlike; the interval is not."""
    reference, a = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    b = rng.normal(size=(12, 3))
    distance = between("FAD", reference, a, b)
    value = distance(np.arange(40), 40 + np.arange(40)) - distance(
        np.arange(40), 80 + np.arange(12)
    )
    first, second = bootstrap_scores(distance, 40, (40, 12)).T
    found = bootstrap_difference(value, first, second)
    assert abs(np.mean(first - second) - value) > 0.3 * found.deviation
    assert found.low < value < found.high
    assert (found.method, found.replicates) == ("bootstrap", 200)


def test_every_set_meets_the_same_draw() -> None:
    drawn: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def distance(i: np.ndarray, j: np.ndarray) -> float:
        drawn.append((tuple(i), tuple(j)))
        return float(i.sum() + j.sum())

    sizes = (7, 7)
    scores = bootstrap_scores(distance, 5, sizes, replicates=20, paired=True, seed=3)
    assert scores.shape == (20, 2)
    for (x, a), (again, b) in zip(drawn[::2], drawn[1::2], strict=True):
        assert x == again
        assert max(x) < 5 <= min(a) <= max(a) < 12 <= min(b)
        assert tuple(place + 7 for place in a) == b
    assert len({x for x, _ in drawn}) == 20
    kept = list(drawn)
    bootstrap_scores(distance, 5, sizes, replicates=20, seed=3)
    loose = drawn[len(kept) :]
    assert any(
        tuple(p + 7 for p in a) != b for (_, a), (_, b) in zip(loose[::2], loose[1::2], strict=True)
    )


@pytest.mark.parametrize("name", BETWEEN)
def test_seed_and_workers(name: str, rng: np.random.Generator) -> None:
    sets = [shift + rng.normal(size=(12, 3)) for shift in (0.0, 0.1, 0.4, 2.0)]
    distance, sizes = between(name, *sets), (12, 12, 12)
    one = bootstrap_scores(distance, 12, sizes, replicates=20, seed=3)
    assert np.isfinite(one).all()
    assert np.mean(one[:, 2] > one[:, 0]) > 0.9
    many = bootstrap_scores(distance, 12, sizes, replicates=20, seed=3, engine=LocalEngine(2))
    assert many == pytest.approx(one, rel=1e-9)
    other = bootstrap_scores(distance, 12, sizes, replicates=20, seed=4)
    assert not np.allclose(other, one)


@pytest.mark.parametrize("name", ["FAD", "KAD"])
def test_the_interval_covers_the_expected_difference(name: str) -> None:
    """benchmarks/floors.py has 200 runs of each metric."""
    rng, n, runs = np.random.default_rng(4), 20, 40

    def draw() -> SubsetDistance:
        return between(name, *(s + rng.normal(size=(n, 3)) for s in (0.0, 0.8, 0.5)))

    x = np.arange(n)
    values = [d(x, n + x) - d(x, 2 * n + x) for d in (draw() for _ in range(300))]
    found = [by_bootstrap(draw(), n, replicates=80) for _ in range(runs)]
    covered = sum(d.low <= np.mean(values) <= d.high for d in found)
    assert covered >= 0.8 * runs
    deviation = np.sqrt(np.mean([d.deviation**2 for d in found]))
    assert deviation == pytest.approx(np.std(values), rel=0.4)


def test_the_probability_agrees_with_the_interval() -> None:
    rng, n = np.random.default_rng(8), 20
    sure = 0
    for shift in np.linspace(0.0, 1.0, 30):
        sets = (move + rng.normal(size=(n, 3)) for move in (0.0, shift, 0.3))
        found = by_jackknife(between("FAD", *sets), n)
        assert (found.high < 0) == (found.probability > 0.975)
        assert (found.low > 0) == (found.probability < 0.025)
        sure += found.low > 0
    assert 0 < sure < 30


def test_what_cannot_be_compared_is_refused(rng: np.random.Generator) -> None:
    distance = between("FAD", *(rng.normal(size=(60, 3)) for _ in range(2)))
    interval = jackknife_interval(distance, 60, 60)
    with pytest.raises(UsageError, match="same groups and seed"):
        jackknife_difference(interval, jackknife_interval(distance, 60, 60, seed=1))
    with pytest.raises(UsageError, match="same clips"):
        jackknife_difference(interval, jackknife_interval(distance, 10, 60))
    with pytest.raises(UsageError, match="equal numbers of clips"):
        bootstrap_scores(distance, 60, (30, 20), paired=True)
    with pytest.raises(UsageError, match="replicates must be at least 20"):
        bootstrap_scores(distance, 60, (30, 30), replicates=5)
