"""Floors by design: the level of each permutation test, and stopping early."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.engine import LocalEngine
from otadtk.statistics.designs import Free, Pairs, Strata
from otadtk.statistics.resampling import permutation_floor

ENGINE = LocalEngine(1)


def mean_difference(points):
    return lambda i, j: float(np.abs(points[i].mean(axis=0) - points[j].mean(axis=0)).sum())


def draw(kind, run):
    """Two sets that are alike under their design, and the design."""
    rng = np.random.default_rng([run, 5])
    if kind == "free":
        return rng.normal(size=(30, 2)), Free(30)
    if kind == "strata":  # the same groups in equal numbers on both sides, far apart
        groups = ("a",) * 5 + ("b",) * 10 + ("a",) * 5 + ("b",) * 10
        centres = np.array([[0.0], [40.0]])[[int(group == "b") for group in groups]]
        return centres + rng.normal(size=(30, 2)), Strata(groups)
    own = 20.0 * rng.normal(size=(15, 2))  # twins, each with its own noise
    points = np.concatenate([own, own]) + rng.normal(size=(30, 2))
    return points, Pairs(30, tuple((k, 15 + k) for k in range(15)))


@pytest.mark.parametrize("kind", ["free", "strata", "pairs"])
@pytest.mark.parametrize("enough", [None, 10])
def test_every_design_keeps_its_level(kind, enough):
    rejected = 0
    for run in range(400):
        points, design = draw(kind, run)
        floor = permutation_floor(
            mean_difference(points), 15, 15, replicates=59, design=design, enough=enough,
            seed=run, engine=ENGINE,
        )  # fmt: skip
        rejected += floor.p_value <= 0.05
        assert floor.design == kind
    assert abs(rejected / 400 - 0.05) <= 0.022


@pytest.mark.parametrize("kind", ["strata", "pairs"])
def test_a_free_permutation_hides_what_the_design_shows(kind):
    points, design = draw(kind, 0)
    points[15:] += 2.0
    own = permutation_floor(mean_difference(points), 15, 15, design=design, engine=ENGINE)
    free = permutation_floor(mean_difference(points), 15, 15, engine=ENGINE)
    assert own.p_value < 0.05 < free.p_value


def test_a_large_p_is_known_early():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    early = permutation_floor(
        mean_difference(points), 20, 20, replicates=400, enough=10, engine=ENGINE
    )
    full = permutation_floor(mean_difference(points), 20, 20, replicates=400, engine=ENGINE)
    assert early.replicates < 400 == full.replicates
    as_large = np.flatnonzero(np.array(full.scores) >= mean_difference(points)(
        np.arange(20), np.arange(20, 40)))  # fmt: skip
    assert early.p_value == 10 / (1 + as_large[9])
    assert early.scores == full.scores[: early.replicates]
    # however many were drawn at once, those count up to the next look after the last one needed
    assert early.replicates == 20 * (1 + as_large[9] // 20)
    assert abs(early.p_value - full.p_value) < 0.3


def test_a_small_p_takes_all_permutations():
    points = np.random.default_rng(0).normal(size=(40, 3))
    points[20:] += 3.0
    floor = permutation_floor(
        mean_difference(points), 20, 20, replicates=99, enough=10, engine=ENGINE
    )
    assert floor.replicates == 99 and floor.p_value == 0.01
