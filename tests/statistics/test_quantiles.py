"""Quantiles are those of numpy, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.statistics.quantiles import quantile_above, quantiles

SHARES = (0.0, 0.025, 0.05, 0.5, 0.95, 0.975, 1.0)


@pytest.mark.parametrize("count", [1, 2, 3, 20, 99, 1000])
def test_quantiles_are_those_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    assert quantiles(values, SHARES) == np.quantile(values, SHARES).tolist()
    for share in SHARES:
        assert quantile_above(values, share) == np.quantile(values, share, method="higher")
