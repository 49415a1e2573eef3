"""A plan that is far too large for the memory is refused before the work, with a forecast."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport import memory
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.distances.transport.sparse.sharp import forecast_pairs, solve_sharp_cross
from otadtk.errors import UsageError


def two_clouds(n: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return tuple(scale * rng.normal(size=(n, 16)).astype(np.float32) + k for k in (0.0, 0.3))


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_the_forecast_is_good_to_a_factor_of_three(scale: float) -> None:
    x, y = (torch.from_numpy(side) for side in two_clouds(4000, scale))
    cost = SquaredCost(x, y)
    a = torch.full((4000,), 1.0 / 4000, dtype=torch.float64)
    solved = solve_sharp_cross(cost, a, a, 0.1, 1 << 28, 1e-5, 1000, lambda *_: None)
    assert solved is not None
    pairs = solved[0]._plan.nnz
    assert pairs / 3.0 < forecast_pairs(cost, a, a, 0.1) < 3.0 * pairs


def test_a_plan_far_too_large_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_ALWAYS", 0)
    begun: list[object] = []
    with pytest.raises(UsageError) as raised:
        sinkhorn_divergence(
            *two_clouds(2100, 1.0), max_memory=1, progress=lambda *step: begun.append(step)
        )
    message = str(raised.value)
    assert re.match(r"the plan at epsilon = 0\.1 would take about \d+\.\d GB", message)
    assert "\n" not in message
    assert not begun


def test_little_memory_is_no_reason_to_refuse_a_plan_that_fits_everywhere() -> None:
    assert sinkhorn_divergence(*two_clouds(2100, 4.0), max_memory=1, tolerance=1e-3).converged
