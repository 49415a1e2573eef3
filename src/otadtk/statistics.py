"""Statistics of scores: arrays in, numbers out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from otadtk.errors import UsageError


def auroc(positive: ArrayLike, scores: ArrayLike) -> float:
    """The probability that a positive scores above a negative; ties count half.

    >>> from otadtk.statistics import auroc
    >>> auroc([False, False, True], [0.1, 0.2, 0.3])
    1.0
    """
    mask, values = check_mask(positive, scores)
    ranks = rankdata(values)
    n_positive, n_negative = int(mask.sum()), int((~mask).sum())
    # Mann–Whitney: U = Σ ranks of the positives − n₊(n₊+1)/2
    statistic = ranks[mask].sum() - n_positive * (n_positive + 1) / 2
    return float(statistic / (n_positive * n_negative))


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
