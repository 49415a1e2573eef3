"""Conformal p-values and e-values: how unusual a clip is among reference clips, with a guarantee.

Part of ``statistics``: arrays in, numbers out. ``verdicts.py`` puts the parts together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.statistics.prices import FloatArray, Swapped

IndexArray = NDArray[np.intp]
CountArray = NDArray[np.int64]

_MARGIN = 1.2
"""Rivals that are counted beyond those that are needed: not all of them are discoveries at last."""
_TIE = 1e-9
"""Relative difference below which two prices are one price, computed twice."""


def count_exceeding(calibration: FloatArray, asked: FloatArray) -> CountArray:
    """For each price asked, how many calibration prices are at least as large; ties count."""
    ordered = np.sort(calibration)
    found = len(ordered) - np.searchsorted(ordered, _least(asked), side="left")
    return np.asarray(found, dtype=np.int64)


def _least(price: FloatArray) -> FloatArray:
    """The smallest price that counts as the same."""
    return np.asarray(price - _TIE * np.maximum(1.0, np.abs(price)))


def p_values(counts: CountArray, calibration: CountArray) -> FloatArray:
    """(1 + reference clips that cost at least as much) / (1 + reference clips)."""
    return np.asarray((1.0 + counts) / (1.0 + calibration))


@dataclass(frozen=True, eq=False)
class Rivals:
    """How each of some evaluated clips ranks in the bag of all reference clips and itself.

    ``rivals[b − 1, j]`` is 1 + the number of other evaluated clips that are beyond all but b of the
    bag of j. It does not depend on which clip of the bag is j.
    """

    clips: IndexArray
    """Places of these evaluated clips."""
    counts: CountArray
    """Reference clips of at least the price of each."""
    rivals: NDArray[np.int32]

    def e_values(self, fdr: float) -> FloatArray:
        """For each clip (N + 1) / b if it is among the b dearest of its bag, otherwise 0.

        b is the largest number for which the rate of false alarms seems to be at most ``fdr``, by
        the rivals. It is the same whichever clip of the bag is j, and at most b clips of the bag are
        among its b dearest: so the expected e-value of a clip that is like the reference is at
        most 1.
        """
        n, m = self.rivals.shape
        number = np.arange(1, n + 1)[:, None]
        allowed = _MARGIN * m * number <= fdr * (n + 1) * self.rivals
        dearest = np.where(allowed, number, 0).max(axis=0, initial=0)
        called = self.counts + 1 <= dearest
        return np.where(called, (n + 1.0) / np.maximum(dearest, 1), 0.0)


def rank_in_bags(found: Swapped, reference: IndexArray, clips: IndexArray) -> Rivals:
    """The ranks of some evaluated clips among some reference clips, by places of both."""
    own, bags = found.own[clips], found.reference[np.ix_(reference, clips)]
    counts = np.asarray((bags >= _least(own)).sum(axis=0), dtype=np.int64)
    ordered = -np.sort(-np.vstack([bags, own]), axis=0)
    rivals = np.empty((len(reference), len(clips)), dtype=np.int32)
    for column, j in enumerate(clips):
        others = np.sort(found.others[clips[clips != j], j])
        beyond = len(others) - np.searchsorted(others, ordered[1:, column], side="right")
        rivals[:, column] = 1 + beyond
    return Rivals(clips, counts, rivals)


def chosen_by_e(e: FloatArray, fdr: float) -> NDArray[np.bool_]:
    """The discoveries of Benjamini and Hochberg's procedure for e-values (Wang and Ramdas 2022).

    The expected share of false ones is at most ``fdr``, however the e-values depend on each other.

    >>> chosen_by_e(np.array([40.0, 15.0, 0.0, 3.0]), 0.1)
    array([ True, False, False, False])
    """
    needed = len(e) / (fdr * np.arange(1, len(e) + 1))
    enough = np.flatnonzero(-np.sort(-e) >= needed * (1.0 - 1e-12))
    if len(enough) == 0:
        return np.zeros(len(e), dtype=bool)
    return np.asarray(e >= needed[enough[-1]] * (1.0 - 1e-12))


def q_values(p: FloatArray) -> FloatArray:
    """The smallest rate of false discoveries at which each p-value is still a discovery.

    The procedure of Benjamini and Hochberg: those with q ≤ α are its discoveries at level α.

    >>> q_values(np.array([0.01, 0.02, 0.9]))
    array([0.03, 0.03, 0.9 ])
    """
    count = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * count / np.arange(1, count + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    q = np.empty(count)
    q[order] = np.minimum(adjusted, 1.0)
    return q


def least_together(evaluated: int, calibration: int, fdr: float) -> int:
    """How many clips must be found at once for any to be found: p is at least 1/(n + 1)."""
    return max(1, math.ceil(evaluated / (fdr * (calibration + 1)) - 1e-9))


def reference_needed(evaluated: int, fdr: float, bad: int = 1) -> int:
    """How many reference clips are needed to find ``bad`` of the evaluated clips."""
    return max(2, math.ceil(evaluated / (fdr * bad) - 1e-9) - 1)
