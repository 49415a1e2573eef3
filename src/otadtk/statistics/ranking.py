"""Statistics of scores: arrays in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from otadtk.errors import UsageError


def auroc(positive: ArrayLike, scores: ArrayLike) -> float:
    """The probability that a positive scores above a negative; ties count half.

    >>> from otadtk.statistics.ranking import auroc
    >>> auroc([False, False, True], [0.1, 0.2, 0.3])
    1.0
    """
    mask, values = check_mask(positive, scores)
    if np.isnan(values).any():
        return float("nan")
    positives, negatives = values[mask], np.sort(values[~mask])
    # Mann–Whitney: U = Σ over the positives of the negatives below, and half of those beside
    below, up_to = (np.searchsorted(negatives, positives, side) for side in ("left", "right"))
    return float((below + up_to).sum() / 2 / (len(positives) * len(negatives)))


def check_mask(
    positive: ArrayLike, scores: ArrayLike
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.bool_]], np.ndarray[tuple[int], np.dtype[np.float64]]
]:
    """The two as arrays of one length, with members on both sides of the mask."""
    mask, values = np.asarray(positive, dtype=bool).ravel(), np.asarray(scores, dtype=float).ravel()
    if mask.size != values.size:
        raise UsageError(f"The mask has {mask.size} entries for {values.size} scores.")
    if mask.all() or not mask.any():
        raise UsageError("The mask must mark at least one entry and leave at least one unmarked.")
    return mask, values


@dataclass(frozen=True)
class Correlation:
    """Spearman's ρ with a 95 % bootstrap interval over the pairs."""

    value: float
    low: float
    high: float


def rank_correlation(
    first: ArrayLike, second: ArrayLike, *, resamples: int = 2000, seed: int = 0
) -> Correlation:
    """Spearman's ρ of paired values; ties share their mean rank.

    >>> from otadtk.statistics.ranking import rank_correlation
    >>> rank_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0]).value
    1.0
    """
    x, y = np.asarray(first, dtype=float).ravel(), np.asarray(second, dtype=float).ravel()
    if x.size != y.size or x.size < 3:
        raise UsageError(f"A rank correlation needs 3 pairs at least, not {x.size} and {y.size}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UsageError("A rank correlation needs finite values.")
    drawn = np.random.default_rng(seed).integers(x.size, size=(resamples, x.size))
    replicates = _spearman(x[drawn], y[drawn])
    low, high = np.nanquantile(replicates, [0.025, 0.975])
    return Correlation(round(float(_spearman(x[None], y[None])[0]), 12), float(low), float(high))


def _spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """ρ of every row; NaN where all values of a row are equal."""
    from scipy.stats import rankdata

    a, b = rankdata(x, axis=1), rankdata(y, axis=1)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norms = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    together: NDArray[np.float64] = (a * b).sum(axis=1)
    empty = np.full_like(norms, np.nan)
    return np.asarray(np.divide(together, norms, out=empty, where=norms > 0))
