"""Numbers that no float can serve are refused in one line, by every distance."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk import compute_fad, compute_kad, compute_otad
from otadtk.distances.subsets import transport_between
from otadtk.distances.transport.couplings import TransportSettings, transport
from otadtk.distances.transport.sinkhorn import sinkhorn_coupling
from otadtk.errors import UsageError

X = np.random.default_rng(0).normal(size=(20, 4))
Y = X + 1.0


@pytest.mark.parametrize("compute", [compute_otad, compute_fad, compute_kad])
def test_values_whose_squares_overflow(compute: object) -> None:
    assert callable(compute)
    with pytest.raises(UsageError, match="cannot hold their squares: divide"):
        compute(X * 1e25, Y)
    with pytest.raises(UsageError, match="cannot hold their squares: divide"):
        compute(X, Y * 1e25)


@pytest.mark.parametrize("epsilon", [1e-320, 1e-300, 1e-38, 1e-20])
def test_epsilon_below_the_resolution_of_the_costs(epsilon: float) -> None:
    with pytest.raises(UsageError, match="too small against costs"):
        compute_otad(X, Y, epsilon=epsilon)
    with pytest.raises(UsageError, match="too small against costs"):
        sinkhorn_coupling(X, Y, epsilon=epsilon)
    between = transport_between(X, TransportSettings(epsilon=epsilon))
    with pytest.raises(UsageError, match="too small against costs"):
        between(np.arange(10), np.arange(10, 20))


def test_large_epsilon_has_the_limit_of_the_means() -> None:
    """OT_ε tends to the independent coupling: the divergence is then ‖mean x − mean y‖²."""
    assert compute_otad(X, Y, epsilon=1e12) == pytest.approx(4.0, abs=1e-5)
    for divergence, epsilon in (("sharp", 1e14), ("sharp", 1e300), ("entropic", 1e8)):
        settings = TransportSettings(epsilon=epsilon, divergence=divergence)
        with pytest.raises(UsageError, match="too large against costs"):
            transport(X, Y, settings)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, True, "0"])
def test_seeds(seed: int) -> None:
    with pytest.raises(UsageError, match="seed must be a whole number from 0"):
        TransportSettings(seed=seed)


def test_one_far_point_does_not_round_the_other_costs_to_nothing() -> None:
    """A pool in float32 would have a median cost of 0 beside a cost of 4e12."""
    far = np.concatenate([X, Y]).astype(np.float32)
    far[0] = 1e6
    settings = TransportSettings(epsilon=1.0, epsilon_scale="median_cost")
    between = transport_between(far, settings)
    first, second = np.arange(20), np.arange(20, 40)
    expected = transport(far[first], far[second], settings).value
    assert between(first, second) == pytest.approx(expected, rel=1e-3)
    first = np.arange(1, 20)
    expected = transport(far[first], far[second], settings).value
    assert between(first, second) == pytest.approx(expected, rel=1e-3)
