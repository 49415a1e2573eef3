"""Whether the clips of one set are farther from a reference than those of another.

The distance of a clip from the reference is a function of the two and of no other clip. So, for two
sets of one distribution, all distances are in random order, and the test below is exact.
"""

from __future__ import annotations

import numpy as np

from otadtk.statistics.conformal import count_exceeding
from otadtk.statistics.judging import Squares
from otadtk.statistics.prices import FloatArray
from otadtk.statistics.spoilt import Half, judge_all

SOFTNESS = 0.5
"""ε of the soft minimum in units of the median squared distance within the reference: at 0.1 and below
only the few nearest clips count, which find fewer faults; at 2 and above the centroid alone does."""
_SAMPLE = 2_000
"""Reference clips from which that median is taken."""
_MOST_PAIRS = 10_000_000
"""Distances that are held at a time."""


def reference_distances(squares: Squares, n: int, m: int) -> FloatArray:
    """The soft minimum of the squared distances from each of m clips to the n reference clips.

    −ε log mean exp(−C/ε). The reference clips come first in the pool.
    """
    reference = np.arange(n)
    some = reference[:: -(-n // _SAMPLE)]
    among = squares(some, some)[~np.eye(len(some), dtype=bool)]
    typical = (float(np.median(among)) or float(among.mean())) if among.size else 0.0
    epsilon = SOFTNESS * typical or 1.0
    step = max(1, _MOST_PAIRS // n)
    found = []
    for start in range(n, n + m, step):
        length = squares(reference, np.arange(start, min(n + m, start + step)))
        least = length.min(axis=0)
        found.append(least - epsilon * np.log(np.exp((least - length) / epsilon).mean(axis=0)))
    return np.concatenate(found)


def p_farther(before: FloatArray, after: FloatArray, *, seed: int = 0) -> float:
    """The p-value of "no more clips of the second set are far from the reference than of the first".

    By the ranks of the second set's distances among those of the first: small if there are more high
    ones than chance allows, be it a few clips or all. If the k-th clips of both belong together it is
    rather too large.
    """
    ranks = Half(count_exceeding(before, after), np.full(len(after), len(before)))
    return judge_all([ranks], [""] * len(after), seed=seed).p_value
