"""The costs of clips between subsets: those of the whole solver, by every coupling."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.distances.clip_costs import clip_costs_between
from otadtk.distances.transport.couplings import TransportSettings, transport

CHOICES = (
    {"epsilon": 0.5},
    {"epsilon": 0.05},
    {"epsilon": 0.2, "epsilon_scale": "median_cost"},
    {"epsilon": 0.2, "epsilon_scale": "mean_cost"},
    {"coupling": "exact"},
    {"coupling": "sliced", "seed": 3},
    {"coupling": "minibatch", "seed": 3},
    {"compat": "otadtk-0.1.2"},
)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_costs_are_those_of_a_transport_between_the_subsets(choice):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 5)).astype(np.float32)
    points[41] = points[40]  # a duplicate within the evaluated clips
    i, j = np.arange(0, 25), np.array([40, 41, 30, 59, 45, 50, 33, 52])
    settings = TransportSettings(**choice)
    expected = len(j) * transport(points[i], points[j], settings).cj
    found = clip_costs_between(points, settings)(i, j)
    assert found.shape == (8,)
    assert np.allclose(found, expected, rtol=2e-3)


def test_costs_follow_their_clips_when_the_pool_is_reordered():
    points = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
    costs = clip_costs_between(points, TransportSettings(epsilon=0.5))
    i, j = np.arange(15), np.arange(15, 40)
    order = np.random.default_rng(2).permutation(25)
    assert np.allclose(costs(i, j)[order], costs(i, j[order]), rtol=1e-3)
