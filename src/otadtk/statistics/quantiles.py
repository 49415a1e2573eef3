"""Quantiles of a few values: those of ``numpy.quantile``, which imports more than all else here does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def quantiles(values: NDArray[np.floating], shares: Sequence[float]) -> list[float]:
    """Linear between two values."""
    ordered = np.sort(values, axis=None).astype(np.float64)
    places = np.asarray(shares, dtype=np.float64) * (len(ordered) - 1)
    below = np.floor(places).astype(np.intp)
    lower, upper = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    part = places - below
    # from the nearer of the two, as numpy does: the last digit is the same
    near, far = lower + part * (upper - lower), upper - (1.0 - part) * (upper - lower)
    found: list[float] = np.where(part < 0.5, near, far).tolist()
    return found


def quantile_above(values: NDArray[np.floating], share: float) -> float:
    """The value at a quantile, or the next larger one where it lies between two."""
    ordered = np.sort(values, axis=None)
    return float(ordered[int(np.ceil(share * (len(ordered) - 1)))])
