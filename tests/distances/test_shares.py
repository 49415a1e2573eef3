"""The columns of a plan, and what they cost between other points of the same samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from otadtk.distances.transport.couplings import CouplingName, TransportSettings, transport
from otadtk.distances.transport.shares import charged


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 20.0])
@pytest.mark.parametrize("coupling", ["sinkhorn", "exact"])
def test_a_plan_charged_where_it_was_made_gives_its_own_costs(
    coupling: CouplingName, epsilon: float, rng: np.random.Generator
) -> None:
    x, y = (torch.from_numpy(rng.normal(size=(n, 5))) for n in (40, 30))
    x[3], y[7] = x[2], y[6]  # duplicates are merged by the solver
    found = transport(x, y, TransportSettings(epsilon, coupling=coupling))
    assert found.shares is not None
    np.testing.assert_allclose(charged(found.shares, x, y), found.cj, rtol=1e-4, atol=1e-9)
    parts = list(found.shares.tiles())
    columns = torch.cat([part for _, part in parts], dim=1).numpy()
    assert [columns.start for columns, _ in parts][0] == 0
    single = np.stack([found.shares(j) for j in range(len(y))], axis=1)
    np.testing.assert_allclose(columns, single, atol=1e-6)


def test_other_points_are_charged_by_the_same_plan(rng: np.random.Generator) -> None:
    x, y = (torch.from_numpy(rng.normal(size=(n, 3))) for n in (20, 12))
    at_x, at_y = (torch.from_numpy(rng.normal(size=(n, 7))) for n in (20, 12))
    shares = transport(x, y, TransportSettings(0.3)).shares
    assert shares is not None
    squares = torch.cdist(at_x, at_y).square().numpy()
    expected = [float(shares(j) @ squares[:, j]) / 12 for j in range(12)]
    np.testing.assert_allclose(charged(shares, at_x, at_y), expected, rtol=1e-6)
