"""Clips of two sets that belong together: found by name, noticed as twins, and compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.audit import near_copies
from otadtk.metrics.ground import GroundMetric
from otadtk.metrics.pairing import names_below, pair_keys
from otadtk.statistics.designs import Pairs, pair_by_name

Places = tuple[tuple[int, int], ...]
"""Places in the pool of both sets: of a reference clip and of its evaluated partner."""

_MOST = 0.8
"""The share of clips with a partner of the same name from which on names may mean twins."""
_NEAREST = 0.5
"""The share of these whose partner is also the nearest reference clip from which on they do."""


@dataclass(frozen=True)
class PairedDistance:
    """The mean cost of the pairs in the ground metric, with a 95 % interval."""

    mean: float
    low: float
    high: float
    files: tuple[str, ...] = field(repr=False)
    """The evaluated clip of each pair."""
    costs: tuple[float, ...] = field(repr=False)
    """The squared distance of each pair."""


def paired_distance(
    ground: GroundMetric, reference: EmbeddingSet, evaluated: EmbeddingSet, pairs: Places
) -> PairedDistance:
    """The squared distance of each evaluated clip from its own partner."""
    from scipy.special import stdtrit

    x, y = (ground.adapt_vectors(side.vectors).astype(float) for side in (reference, evaluated))
    first, second = np.asarray(pairs).T
    costs = np.square(x[first] - y[second - len(x)]).sum(axis=1)
    mean, reach = float(costs.mean()), math.inf
    if len(costs) > 1:
        reach = float(stdtrit(len(costs) - 1, 0.975) * costs.std(ddof=1) / math.sqrt(len(costs)))
    files = tuple(str(evaluated.files[j - len(x)]) for j in second)
    return PairedDistance(mean, mean - reach, mean + reach, files, tuple(costs.tolist()))


def pairs_by_name(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Pairs:
    """The design in which clips of equal names, or of equal ``pair`` in manifests, are partners."""
    found = pair_by_name(*pair_keys(reference, evaluated))
    if not found:
        what = "pair" if reference.column("pair") and evaluated.column("pair") else "name"
        raise UsageError(f"No clip of the two sets has the same {what}: nothing is paired.")
    return Pairs(len(reference.files) + len(evaluated.files), found)


def pairs_of_manifests(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Pairs | None:
    """The pairs by the column ``pair``, if it gives most clips of both sides one partner."""
    known = reference.column("pair"), evaluated.column("pair")
    named = [[key for key in side if key] for side in known]
    if not all(named) or any(len(set(side)) < len(side) for side in named):
        return None
    found = pair_by_name(*known)
    few = len(found) < _MOST * max(len(side) for side in known)
    return None if few else Pairs(len(known[0]) + len(known[1]), found)


def noticed_twins(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Pairs | None:
    """The pairs, if most clips have a partner: of the same name and nearest, or nearly identical.

    Equal names alone mean little: two folders of 001.wav, 002.wav, … need not belong together.
    """
    n, m = len(reference.files), len(evaluated.files)
    if reference.moments_only or evaluated.moments_only:
        return None
    for find in (_near_by_name, _near_copies):
        found = find(reference, evaluated)
        if found and len(found) >= _MOST * max(n, m):
            return Pairs(n + m, found)
    return None


def _near_by_name(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Places:
    """Clips of equal names, if these are the nearest ones for many of them."""
    names = names_below(reference.files), names_below(evaluated.files)
    if any(len(set(side)) < len(side) for side in names):
        return ()
    found = pair_by_name(names[0], names[1])
    if not found:
        return ()
    first, second = np.asarray(found).T
    x, y = reference.vectors.astype(np.float64), evaluated.vectors.astype(np.float64)
    near = float(np.mean(_nearest(x, y[second - len(x)]) == first))
    return found if near >= _NEAREST else ()


def _near_copies(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Places:
    """Clips of nearly the same embedding, each in one pair."""
    closest: dict[int, tuple[float, int]] = {}
    for j, i, distance in near_copies(reference.vectors, evaluated.vectors):
        closest[i] = min(closest.get(i, (math.inf, 0)), (distance, j))
    return tuple((i, len(reference.files) + j) for i, (_, j) in sorted(closest.items()))


def _nearest(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """The place of the nearest x of every y."""
    squares = np.square(x).sum(axis=1)
    parts = [np.argmin(squares - 2.0 * rows @ x.T, axis=1) for rows in _blocks(y)]
    return np.concatenate(parts)


def _blocks(y: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [y[start : start + 1024] for start in range(0, len(y), 1024)]
