"""Outliers, the null of KAD, and Theorem 1."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.moments import moments
from otadtk.experiments.rank_one.experiment import contaminate, kernel_null, principal
from otadtk.experiments.rank_one.tables import FULL, MINUS, PLUS, advantage, tables
from otadtk.experiments.rank_one.theorem import (
    TheoremConfig,
    exponents,
    fad_bound,
    population_fad,
    sample,
    spectra,
)
from otadtk.experiments.rows import Row


@pytest.fixture
def points(rng: np.random.Generator) -> np.ndarray:
    cloud = rng.normal(size=(400, 6)) * [3.0, 1.0, 1.0, 0.5, 0.5, 0.1] + 2.0
    return cloud.astype(np.float32)


class TestOutliers:
    def test_rank_one_lies_five_deviations_out(self, points: np.ndarray) -> None:
        moments = principal(points)
        for condition, sign in ((PLUS, 1.0), (MINUS, -1.0)):
            degraded = contaminate(points, moments, condition, 0.1, seed=0)
            moved = np.flatnonzero((degraded != points).any(axis=1))
            assert len(moved) == 40
            assert len(np.unique(degraded[moved], axis=0)) == 1
            offset = degraded[moved[0]] - moments.mean
            assert offset @ moments.direction == pytest.approx(
                sign * 5.0 * moments.variance**0.5, rel=1e-5
            )
            assert np.linalg.norm(offset) == pytest.approx(5.0 * moments.variance**0.5, rel=1e-5)

    def test_full_rank_has_the_largest_variance_everywhere(self, points: np.ndarray) -> None:
        moments = principal(points)
        degraded = contaminate(points, moments, FULL, 1.0, seed=1)
        deviations = degraded.std(axis=0)
        assert deviations == pytest.approx(np.full(6, moments.variance**0.5), rel=0.15)

    def test_a_seed_gives_the_same_outliers(self, points: np.ndarray) -> None:
        moments = principal(points)
        first, again = (contaminate(points, moments, FULL, 0.05, seed=3) for _ in range(2))
        other = contaminate(points, moments, FULL, 0.05, seed=4)
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_the_null_is_the_kernel_distance_of_a_random_deal(rng: np.random.Generator) -> None:
    x, y = (rng.normal(size=(n, 5)).astype(np.float32) for n in (30, 20))
    null = kernel_null(x, y, sigma=1.7, count=3)
    pooled, dealer = np.concatenate([x, y]), np.random.default_rng(0)
    for value in null:
        order = dealer.permutation(50)
        first = np.isin(np.arange(50), order[:30])
        expected = kernel_distance(pooled[first], pooled[~first], bandwidth=1.7).value
        assert value == pytest.approx(expected, abs=1e-4)


class TestTheorem:
    def test_population_fad_is_the_limit_of_the_empirical(self, rng: np.random.Generator) -> None:
        spectrum, rate = np.array([4.0, 1.0, 0.25]), 0.1
        clean = rng.normal(size=(40_000, 3)) * np.sqrt(spectrum)
        degraded = clean.copy()
        degraded[:4000] = [5.0 * 2.0, 0.0, 0.0]
        assert frechet_distance(moments(clean), moments(degraded)) == pytest.approx(
            population_fad(spectrum, rate, 5.0), rel=0.05
        )

    @pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
    def test_the_first_bound_holds_on_every_spectrum(self, rate: float) -> None:
        for _, spectrum in spectra(TheoremConfig()):
            assert population_fad(spectrum, rate, 5.0) <= fad_bound(spectrum, rate, 5.0)

    def test_spectra_have_the_rank_that_they_say(self) -> None:
        config = TheoremConfig()
        ranks = [s.sum() / s[0] for family, s in spectra(config) if family == "spiked"]
        assert ranks == pytest.approx(config.effective_ranks)

    def test_transport_costs_at_least_the_nearest_points(self) -> None:
        config = TheoremConfig(dimension=8, samples=60, rates=(0.1, 0.2))
        for row in sample(config, "spiked", np.array([1.0] + [0.2] * 7), 0, 0):
            for cost in ("w2", "w2_twins"):  # Eq. (20) bounds both
                assert float(row[cost]) >= float(row["nearest_sum"]) - 1e-9

    def test_exponents_of_a_power_law(self) -> None:
        rows: list[Row] = [
            {"effective_rank": r, "rate": e, "fad": e**2 / r, "w2": e}
            for r in (2, 8)
            for e in (1, 2)
        ]
        assert exponents(rows, "w2") == pytest.approx((1.0, -1.0))


def test_the_table_divides_by_the_full_rank_response_of_the_same_seed() -> None:
    rows: list[Row] = []
    answers = {
        FULL: {0.05: 5.0, 0.2: 20.0},
        PLUS: {0.05: 1.0, 0.2: 4.0},
        MINUS: {0.05: 2.0, 0.2: 4.0},
    }
    for seed, factor in enumerate((1.0, 10.0)):
        for metric, gain in (("fad", 1.0), ("kad", 1.0), ("sinkhorn", 3.0), ("exact", 3.0)):
            for condition, values in answers.items():
                for rate, value in values.items():
                    boost = gain if condition != FULL else 1.0
                    row: Row = {"part": "data", "model": "m", "dimension": 4, "effective_rank": 2.0}
                    row |= {"condition": condition, "rate": rate, "seed": seed, "metric": metric}
                    row |= {"value": factor * boost * value, "null_deviation": 1.0, "p_value": 0.5}
                    rows.append(row)
    assert advantage(rows, "m", PLUS, 0.05) == pytest.approx([3.0, 3.0])
    ratios = tables(rows)[0].markdown().splitlines()
    (line,) = [line for line in ratios if line.startswith(f"| m, {PLUS} ")]
    assert line == f"| m, {PLUS} | 4 | 2.0 | 5.00% | 33.3% | 15.00% | 100.0% | 3.00 (3.00–3.00) |"
