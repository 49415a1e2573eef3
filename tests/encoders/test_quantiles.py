"""Quantiles by drawers are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.encoders.features.quantiles import column_quantile, quantiles

SHARES = (0.0, 0.01, 0.25, 0.5, 0.97, 1.0)


@pytest.mark.parametrize("count", [1, 2, 5, 4096, 4097, 30_000])
@pytest.mark.parametrize("shape", ["normal", "heavy", "few values", "constant"])
def test_they_are_those_of_numpy(count: int, shape: str) -> None:
    rng = np.random.default_rng(count)
    drawn = rng.standard_normal(count).astype(np.float32)
    values = {
        "normal": drawn,
        "heavy": drawn**7,  # nearly all in one drawer
        "few values": np.round(drawn),
        "constant": np.full_like(drawn, 0.3),
    }[shape]
    expected = np.quantile(values.astype(np.float64), SHARES)
    np.testing.assert_allclose(quantiles(values, SHARES), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 11, 312])
def test_columns_have_one_each(count: int) -> None:
    values = np.random.default_rng(count).standard_normal((count, 5))
    expected = np.quantile(values, 0.1, axis=0)
    np.testing.assert_allclose(column_quantile(values, 0.1), expected, rtol=1e-12, atol=1e-12)
