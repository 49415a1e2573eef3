"""Designs of permutations and the excess: what may move, levels, and an expectation of 0."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.engine import LocalEngine
from otadtk.errors import UsageError
from otadtk.statistics.designs import Free, Pairs, Strata, pair_by_name
from otadtk.statistics.excess import excess_score

ENGINE = LocalEngine(1)


def squared_mean_difference(points):
    """A biased distance: positive for two samples of one distribution."""
    return lambda i, j: float(np.square(points[i].mean(axis=0) - points[j].mean(axis=0)).sum())


def test_groups_keep_their_places():
    groups = ("a", "b", "a", "c", "b", "a", "b")
    design, rng = Strata(groups), np.random.default_rng(0)
    orders = [design.draw(rng) for _ in range(200)]
    for order in orders:
        assert sorted(order) == list(range(7))
        assert [groups[k] for k in order] == list(groups)
    assert all(order[3] == 3 for order in orders)
    assert {tuple(order[[0, 2, 5]]) for order in orders} > {(0, 2, 5), (5, 2, 0)}


def test_pairs_swap_with_equal_probability_and_nothing_else_moves():
    design, rng = Pairs(7, ((0, 4), (2, 6))), np.random.default_rng(0)
    orders = np.array([design.draw(rng) for _ in range(400)])
    assert (orders[:, [1, 3, 5]] == [1, 3, 5]).all()
    swapped = orders[:, 0] == 4
    assert ((orders[:, 4] == 0) == swapped).all() and 160 <= swapped.sum() <= 240
    assert {tuple(row) for row in orders[:, [0, 2]]} == {(0, 2), (4, 2), (0, 6), (4, 6)}


def test_free_permutations_move_all():
    order = Free(50).draw(np.random.default_rng(0))
    assert sorted(order) == list(range(50)) and (order != np.arange(50)).any()


def test_pairs_are_found_by_name():
    assert pair_by_name(["a", "b", "c"], ["c", "x", "a"]) == ((2, 3), (0, 5))
    with pytest.raises(UsageError, match="evaluated has a twice"):
        pair_by_name(["a", "b"], ["a", "a"])


def test_designs_that_cannot_move_anything_are_refused():
    with pytest.raises(UsageError, match="more than one clip"):
        Strata(("a", "b", "c"))
    with pytest.raises(UsageError, match="no clips are paired"):
        Pairs(4, ())
    with pytest.raises(UsageError, match="one pair only"):
        Pairs(4, ((0, 2), (0, 3)))


@pytest.mark.parametrize(("n", "m"), [(20, 20), (14, 40)])
def test_the_excess_is_0_on_average_for_one_distribution(n, m):
    values, covered = [], 0
    for run in range(60):
        points = np.random.default_rng([run, n]).normal(size=(n + m, 5))
        found = excess_score(squared_mean_difference(points), n, m, seed=run, engine=ENGINE)
        values.append(found.value)
        covered += found.low <= 0.0 <= found.high
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values)) <= 3 * error
    assert covered >= 52


def test_the_excess_of_shifted_sets_is_the_squared_shift():
    values = []
    for run in range(40):
        points = np.random.default_rng(run).normal(size=(80, 2))
        points[40:] += [2.0, 0.0]
        found = excess_score(squared_mean_difference(points), 40, 40, engine=ENGINE)
        values.append(found.value)
        assert found.clips == 20 and found.low < found.value < found.high
    assert abs(np.mean(values) - 4.0) <= 3 * np.std(values) / np.sqrt(40)


def test_the_excess_refuses_tiny_sets():
    with pytest.raises(UsageError, match="at least 6 clips a side, not 5"):
        excess_score(squared_mean_difference(np.zeros((11, 2))), 5, 6, engine=ENGINE)
