"""Conformal p-values: how unusual a clip's cost is among the costs of reference clips.

A part of the reference is held out and put into one pool with the evaluated clips; the rest is what
all of them are transported to. A clip that is like the reference is then one of the held-out clips
as well as not, and every rank of its cost is equally likely. Each reference clip is held out once.

Part of ``statistics``: arrays in, numbers out. ``verdicts.py`` puts the parts together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from otadtk.engine import Engine
from otadtk.errors import UsageError

IndexArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
ClipCosts = Callable[[IndexArray, IndexArray], FloatArray]
"""The costs of the clips of the second subset of a pool, transported to the first."""

FOLDS = 10
_TIE = 1e-6
"""Relative difference below which two costs are one cost, computed twice."""


def count_exceeding(calibration: FloatArray, costs: FloatArray) -> NDArray[np.int64]:
    """For each cost, how many calibration costs are at least as large; ties count."""
    ordered = np.sort(calibration)
    least = costs - _TIE * np.abs(costs)
    return np.asarray(len(ordered) - np.searchsorted(ordered, least, side="left"), dtype=np.int64)


def held_out_counts(
    costs: ClipCosts,
    reference: IndexArray,
    evaluated: IndexArray,
    parts: Sequence[IndexArray],
    *,
    kinds: tuple[Sequence[str], Sequence[str]] | None = None,
    engine: Engine,
) -> NDArray[np.int64]:
    """A row for each part: how many of its clips cost at least as much as each evaluated clip.

    Each part of the reference, given by places, is held out in turn and joins the evaluated clips;
    only costs of the same transport are compared. ``kinds`` are those of the reference and of the
    evaluated clips: a clip is then compared with clips of its own kind only.
    """
    n = len(reference)
    own, other = kinds if kinds is not None else ([""] * n, [""] * len(evaluated))
    of_reference, of_evaluated = np.asarray(own, dtype=object), np.asarray(other, dtype=object)

    def count(part: IndexArray) -> NDArray[np.int64]:
        rest = np.delete(reference, part)
        found = costs(rest, np.concatenate([reference[part], evaluated]))
        held, asked = found[: len(part)], found[len(part) :]
        counts = np.zeros(len(evaluated), dtype=np.int64)
        for kind in set(of_evaluated):
            mine = of_evaluated == kind
            counts[mine] = count_exceeding(held[of_reference[part] == kind], asked[mine])
        return counts

    return np.asarray(engine.map(lambda: count, parts, title="verdicts", unit="transport"))


def deal_folds(kinds: Sequence[str], folds: int, seed: Sequence[int]) -> list[IndexArray]:
    """Places of the clips of each fold, drawn by the seed; every kind is spread over all folds."""
    count = min(folds, len(kinds))
    if count < 2:
        raise UsageError(f"Verdicts need at least 2 reference clips and folds, not {count}.")
    shuffled = np.random.default_rng(seed).permutation(len(kinds))
    names = np.asarray(kinds, dtype=object)
    order = shuffled[np.argsort(names[shuffled], kind="stable")]
    return [np.sort(order[k::count]) for k in range(count)]


def p_values(counts: NDArray[np.int64], calibration: NDArray[np.int64]) -> FloatArray:
    """(1 + reference clips that cost at least as much) / (1 + reference clips)."""
    return np.asarray((1.0 + counts) / (1.0 + calibration))


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
