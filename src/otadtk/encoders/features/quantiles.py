"""Quantiles of many values, linear between two of them as ``numpy.quantile`` takes them.

Sorting a hundred thousand values takes milliseconds, which adds up over the features of a clip.
Values are counted into drawers first, and only the few drawers that matter are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DRAWERS = 1024
_FEW = 4096


def quantiles(values: NDArray[np.floating[Any]], shares: Sequence[float]) -> list[float]:
    """The quantiles of all values; they must be finite."""
    places = np.asarray(shares) * (values.size - 1)
    below = np.floor(places).astype(np.intp)
    above = np.minimum(below + 1, values.size - 1)
    lower, upper = np.split(_at_ranks(values.ravel(), np.concatenate([below, above])), 2)
    found: list[float] = (lower + (places - below) * (upper - lower)).tolist()
    return found


def _at_ranks(values: NDArray[np.floating[Any]], ranks: NDArray[np.intp]) -> NDArray[np.float64]:
    """The values that would stand at these places if all were sorted."""
    lowest, highest = values.min(), values.max()
    if values.size <= _FEW or lowest == highest:
        return np.sort(values)[ranks].astype(np.float64)
    drawers = ((values - lowest) * ((_DRAWERS - 1) / (highest - lowest))).astype(np.int16)
    filled = np.concatenate([[0], np.cumsum(np.bincount(drawers))])
    numbers = np.searchsorted(filled, ranks, side="right") - 1
    ordered = {number: np.sort(values[drawers == number]) for number in set(numbers.tolist())}
    return np.array(
        [ordered[n][rank - filled[n]] for n, rank in zip(numbers.tolist(), ranks, strict=True)],
        dtype=np.float64,
    )


def column_quantile(values: NDArray[np.floating[Any]], share: float) -> NDArray[np.floating[Any]]:
    """One quantile of every column."""
    columns = np.ascontiguousarray(values.T)
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    parted = np.partition(columns, above, axis=1)
    lower = parted[:, : above or 1].max(axis=1)
    found: NDArray[np.floating[Any]] = lower + (place - below) * (parted[:, above] - lower)
    return found
