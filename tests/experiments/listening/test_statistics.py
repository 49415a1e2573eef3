"""Statistics of agreement in closed form: known rankings, ties, all orders, listeners."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otadtk.errors import UsageError
from otadtk.experiments.listening.correlation import (
    UNDEFINED,
    correlations,
    interval,
    permutation_p,
)
from otadtk.experiments.listening.reliability import Reliability, ratings_table, reliability

UP = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


class TestCorrelations:
    def test_the_same_order_and_the_reversed_one(self) -> None:
        assert correlations(UP, UP) == pytest.approx((1.0, 1.0, 1.0))
        assert correlations(UP, UP[::-1]) == pytest.approx((-1.0, -1.0, -1.0))

    def test_ranks_do_not_mind_a_bent_scale(self) -> None:
        rho, tau, r = correlations(UP, np.exp(UP))
        assert (rho, tau) == pytest.approx((1.0, 1.0))
        assert r < 0.95

    def test_ties_share_their_rank(self) -> None:
        rho, tau, r = correlations(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]))
        assert rho == pytest.approx(4.5 / math.sqrt(4.5 * 5.0))
        assert tau == pytest.approx(5.0 / math.sqrt(5.0 * 6.0))
        assert r == pytest.approx(3.0 / math.sqrt(2.0 * 5.0))

    def test_nothing_is_said_of_constant_or_few_values(self) -> None:
        for x in (np.ones(5), UP[:2]):
            assert all(math.isnan(value) for value in correlations(x, UP[: len(x)]))

    def test_sides_of_different_length_are_refused(self) -> None:
        with pytest.raises(UsageError, match="not 5 and 4"):
            correlations(UP, UP[:4])


class TestPermutations:
    @pytest.mark.parametrize("size", [3, 4, 5])
    def test_the_best_order_is_one_of_all(self, size: int) -> None:
        p_value, exact = permutation_p(UP[:size], UP[:size])
        assert exact
        assert p_value == pytest.approx(1.0 / math.factorial(size))

    @pytest.mark.parametrize("size", [3, 4, 5])
    def test_every_order_is_at_least_as_good_as_the_reversed_one(self, size: int) -> None:
        assert permutation_p(UP[:size], UP[:size][::-1]) == (1.0, True)

    def test_one_exchange_of_neighbours_among_four(self) -> None:
        # as good or better: the order itself, and three exchanges of neighbours
        p_value, _ = permutation_p(UP[:4], np.array([2.0, 1.0, 3.0, 4.0]))
        assert p_value == pytest.approx(4 / 24)

    def test_tied_ratings_have_fewer_orders(self) -> None:
        assert permutation_p(UP[:3], np.array([1.0, 1.0, 2.0])) == (pytest.approx(2 / 6), True)

    def test_many_systems_take_random_orders_and_the_one_found(self) -> None:
        x = np.arange(12.0)
        assert permutation_p(x, x, orders=99) == (pytest.approx(0.01), False)
        assert permutation_p(x, -x, orders=99) == (1.0, False)

    def test_no_p_for_constant_values(self) -> None:
        assert math.isnan(permutation_p(np.ones(4), UP[:4])[0])

    @given(st.permutations(range(5)))
    def test_p_falls_as_rho_rises(self, order: list[int]) -> None:
        y = np.array(order, dtype=float)
        better = np.sort(y)
        assert permutation_p(UP, y)[0] >= permutation_p(UP, better)[0]


class TestInterval:
    def test_quantiles_of_the_replicates(self) -> None:
        low, high = interval([(0.01 * i, -0.01 * i, 0.5) for i in range(101)])
        assert low == pytest.approx((0.025, -0.975, 0.5))
        assert high == pytest.approx((0.975, -0.025, 0.5))

    def test_replicates_without_a_value_do_not_count(self) -> None:
        low, high = interval([*[(1.0, 1.0, 1.0)] * 30, *[UNDEFINED] * 30])
        assert (low, high) == ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))

    def test_too_few_replicates_give_none(self) -> None:
        low, high = interval([(1.0, 1.0, 1.0)] * 3)
        assert all(math.isnan(end) for end in (*low, *high))


class TestReliability:
    def test_listeners_who_agree(self) -> None:
        found = reliability(np.tile(UP, (6, 1)))
        assert found is not None
        assert (found.reliability, found.ceiling, found.one_against_rest) == (1.0, 1.0, 1.0)
        assert (found.raters, found.objects) == (6, 5)

    def test_listeners_who_contradict_each_other(self) -> None:
        found = reliability(np.stack([UP, UP[::-1]]))
        assert found is not None
        assert found.split_half == found.one_against_rest == pytest.approx(-1.0)
        assert found.reliability == found.ceiling == 0.0

    def test_listeners_who_guess(self, rng: np.random.Generator) -> None:
        found = reliability(rng.normal(size=(8, 2000)))
        assert found is not None
        assert found.split_half == pytest.approx(0.0, abs=0.06)
        assert found.one_against_rest == pytest.approx(0.0, abs=0.06)

    def test_spearman_and_brown(self) -> None:
        found = Reliability(raters=4, objects=9, split_half=0.5, one_against_rest=0.4)
        assert found.reliability == pytest.approx(2 / 3)
        assert found.ceiling == pytest.approx(math.sqrt(2 / 3))

    def test_noise_of_known_strength(self, rng: np.random.Generator) -> None:
        """Ten listeners with noise of variance 4 on a scale of variance 1: 1 / (1 + 4/10)."""
        truth = rng.normal(size=4000)
        table = truth + 2.0 * rng.normal(size=(10, 4000))
        found = reliability(table, splits=40)
        assert found is not None
        assert found.reliability == pytest.approx(1 / 1.4, abs=0.03)
        # a perfect metric, which knows the truth, reaches the ceiling
        assert correlations(truth, table.mean(axis=0))[0] == pytest.approx(found.ceiling, abs=0.03)

    def test_objects_that_only_some_have_rated(self) -> None:
        table = np.tile(UP, (4, 1))
        table[0, :3] = np.nan
        table[3, 1:] = np.nan  # one rating: no correlation of its own
        found = reliability(table)
        assert found is not None
        assert found.one_against_rest == pytest.approx(1.0)

    def test_too_few(self) -> None:
        assert reliability(UP[None]) is None
        assert reliability(np.ones((4, 2))) is None
        assert reliability(np.ones((4, 5))) is None

    def test_a_table_of_named_listeners(self) -> None:
        table = ratings_table([{"a": 1.0, "b": 2.0}, {"b": 3.0}])
        assert np.array_equal(table, [[1.0, np.nan], [2.0, 3.0]], equal_nan=True)
