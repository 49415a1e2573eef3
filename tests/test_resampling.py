"""Floors, intervals and limits: right on average, reproducible, refused where they mean nothing."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk import compute_fad, compute_kad, compute_otad
from otadtk.errors import UsageError
from otadtk.resampling import Distance, extrapolate, jackknife_interval, permutation_floor


def otad(x: np.ndarray, y: np.ndarray) -> float:
    return compute_otad(x, y, epsilon=0.5)


METRICS: dict[str, Distance] = {"OTAD": otad, "FAD": compute_fad, "KAD": compute_kad}


@pytest.mark.parametrize("name", METRICS)
def test_floor_tells_equal_from_different(name: str, rng: np.random.Generator) -> None:
    x, same = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    other = 1.5 + rng.normal(size=(30, 3))
    for y, different in ((same, False), (other, True)):
        observed = METRICS[name](x, y)
        floor = permutation_floor(METRICS[name], x, y, observed, replicates=60)
        assert floor.low <= floor.mean <= floor.high
        assert (floor.p_value < 0.03) == different
        assert (observed > floor.high) == different


def test_p_value_is_uniform_under_the_null() -> None:
    rng = np.random.default_rng(1)
    values = []
    for seed in range(200):
        x, y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
        observed = compute_fad(x, y)
        values.append(
            permutation_floor(compute_fad, x, y, observed, replicates=39, seed=seed).p_value
        )
    assert abs(np.mean(values) - 0.5) < 0.08
    assert np.mean(np.array(values) <= 0.05) < 0.11


@pytest.mark.parametrize("name", ["FAD", "KAD"])
def test_interval_covers_the_expected_score(name: str) -> None:
    """Coverage of the 95 % interval between 90 % and 98 % in 200 runs."""
    distance = METRICS[name]
    rng = np.random.default_rng(2)

    def draw() -> tuple[np.ndarray, np.ndarray]:
        return rng.normal(size=(60, 3)), 0.5 + 1.3 * rng.normal(size=(60, 3))

    expected = np.mean([distance(*draw()) for _ in range(600)])
    hits = 0
    for seed in range(200):
        x, y = draw()
        interval = jackknife_interval(distance, x, y, distance(x, y), groups=10, seed=seed)
        hits += interval.low <= expected <= interval.high
    assert 180 <= hits <= 196


def test_limit_of_same_distribution_scores_is_below_them(rng: np.random.Generator) -> None:
    """FAD between samples of one distribution falls as 1/N; the fit sees through it."""
    x, y = rng.normal(size=(300, 8)), rng.normal(size=(300, 8))
    limit = extrapolate(compute_fad, x, y)
    assert limit.r_squared > 0.6
    assert abs(limit.value) < 0.5 * compute_fad(x, y)
    assert limit.sizes[-1] == 300


def test_seed_and_workers(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    one = permutation_floor(compute_fad, x, y, 0.1, replicates=20, seed=3)
    assert permutation_floor(compute_fad, x, y, 0.1, replicates=20, seed=3, workers=2) == one
    assert permutation_floor(compute_fad, x, y, 0.1, replicates=20, seed=4) != one


def test_too_few_clips_are_refused() -> None:
    few = np.zeros((4, 2))
    with pytest.raises(UsageError, match="at least 6 clips"):
        jackknife_interval(compute_fad, few, few, 0.0)
    with pytest.raises(UsageError, match="at least 6 clips"):
        extrapolate(compute_fad, few, few)
    with pytest.raises(UsageError, match="replicates must be at least 1"):
        permutation_floor(compute_fad, few, few, 0.0, replicates=0)
