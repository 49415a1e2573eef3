"""Agreement of squared distances with the dissimilarities that listeners stated."""

from __future__ import annotations

import numpy as np

from otadtk.experiments.data import Points
from otadtk.experiments.listening.correlation import Agreement, Triple, correlations, interval
from otadtk.experiments.listening.levels import Effort, Level
from otadtk.experiments.listening.sets import Numbers

PAIRS = "pairs of sounds"


def by_pair(points: Points, matrix: Numbers, effort: Effort) -> Level | None:
    """The agreement over all pairs; ``None`` if all dissimilarities or all distances are equal.

    The interval draws sounds. p is that of Mantel's test, which gives the sounds other names.
    """
    distances = squared_distances(points)
    size = len(matrix)
    upper = np.triu_indices(size, 1)
    values = correlations(distances[upper], matrix[upper])
    if np.isnan(values[0]):
        return None
    rng = np.random.default_rng(effort.seed)
    found: list[Triple] = []
    for _ in range(effort.resamples):
        drawn = rng.integers(size, size=size)
        i, j = drawn[upper[0]], drawn[upper[1]]
        apart = i != j  # a sound and itself are no pair
        found.append(correlations(distances[i, j][apart], matrix[i, j][apart]))
    low, high = interval(found)
    p_value = _mantel(distances, matrix, effort, rng)
    return Level(PAIRS, size, Agreement(values, low, high, p_value))


def squared_distances(points: Points) -> Numbers:
    """‖x − y‖² of all pairs, in float64."""
    exact = points.astype(np.float64)
    gaps = exact[:, None, :] - exact[None, :, :]
    found: Numbers = np.einsum("ijk,ijk->ij", gaps, gaps)
    return found


def _mantel(distances: Numbers, matrix: Numbers, effort: Effort, rng: np.random.Generator) -> float:
    from scipy.stats import rankdata

    size = len(matrix)
    upper = np.triu_indices(size, 1)
    a, b = rankdata(distances[upper]), rankdata(matrix[upper])
    ranks = np.zeros((size, size))
    ranks[upper] = b - b.mean()
    ranks += ranks.T
    a -= a.mean()
    observed, reached = float(a @ ranks[upper]), 0
    for _ in range(effort.orders):
        order = rng.permutation(size)
        reached += bool(a @ ranks[order[upper[0]], order[upper[1]]] >= observed - 1e-9)
    return (1 + reached) / (1 + effort.orders)
