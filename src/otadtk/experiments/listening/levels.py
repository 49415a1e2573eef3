"""Agreement of one metric with one test, at each level at which the two can be compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from otadtk.experiments.listening.arrays import Arrays, Indices
from otadtk.experiments.listening.correlation import (
    Agreement,
    Triple,
    correlations,
    interval,
    permutation_p,
)
from otadtk.experiments.listening.sets import FEWEST_SYSTEMS, Numbers
from otadtk.experiments.listening.system_distances import SystemValues

PAIRED, SETS, APART = "system, twins, paired", "system, twins, sets", "system, no twins"
CLIP, WITHIN = "clip", "within item"
SYSTEM_LEVELS = (PAIRED, SETS, APART)
LEVELS = (*SYSTEM_LEVELS, CLIP, WITHIN)
_FEWEST_ITEMS = 3
"""Items from which on an interval over items is given."""


@dataclass(frozen=True)
class Effort:
    """How many replicates, splits and orders are drawn."""

    resamples: int = 1000
    """Bootstrap draws of the items, where distances of pairs are known."""
    set_resamples: int = 200
    """The same where each draw needs new distances between sets."""
    splits: int = 10
    """Random halves of the items for the comparison without twins."""
    orders: int = 9999
    """Random orders, where there are too many for all."""
    seed: int = 0


@dataclass(frozen=True)
class Level:
    """The agreement at one level, over so many objects; by system also what was compared."""

    name: str
    objects: int
    agreement: Agreement
    values: Numbers | None = None
    ratings: Numbers | None = None


def by_system(
    name: str, arrays: Arrays, values: SystemValues, effort: Effort, resamples: int
) -> Level | None:
    """The agreement over systems; ``None`` if fewer than three can be compared."""
    whole = np.ones(len(arrays.items), dtype=np.int64)
    distances, ratings = values(whole, None), arrays.system_ratings(whole)
    known = np.isfinite(distances) & np.isfinite(ratings)
    if known.sum() < FEWEST_SYSTEMS:
        return None
    p_value, exact = permutation_p(
        -distances[known], ratings[known], orders=effort.orders, seed=effort.seed
    )
    found: list[Triple] = []
    rng = np.random.default_rng(effort.seed)
    for _ in range(resamples if len(arrays.items) >= _FEWEST_ITEMS else 0):
        counts = _draw(rng, len(arrays.items))
        x, y = values(counts, rng), arrays.system_ratings(counts)
        both = known & np.isfinite(x) & np.isfinite(y)
        found.append(correlations(-x[both], y[both]))
    low, high = interval(found)
    agreement = Agreement(
        correlations(-distances[known], ratings[known]), low, high, p_value, exact
    )
    return Level(name, int(known.sum()), agreement, distances, ratings)


def by_clip(arrays: Arrays, pairs: Numbers, effort: Effort) -> Level | None:
    """The agreement over all clips with twins; the interval draws whole items."""
    clips = np.flatnonzero(arrays.paired & np.isfinite(arrays.rating))
    values = correlations(-pairs[clips], arrays.rating[clips])
    if math.isnan(values[0]):
        return None
    found: list[Triple] = []
    rng = np.random.default_rng(effort.seed)
    items = np.unique(arrays.item[clips])
    for _ in range(effort.resamples if len(items) >= _FEWEST_ITEMS else 0):
        counts = np.zeros(len(arrays.items), dtype=np.int64)
        counts[items] = _draw(rng, len(items))
        drawn = np.repeat(clips, counts[arrays.item[clips]])
        found.append(correlations(-pairs[drawn], arrays.rating[drawn]))
    low, high = interval(found)
    return Level(CLIP, len(clips), Agreement(values, low, high))


def within_item(arrays: Arrays, pairs: Numbers, effort: Effort) -> Level | None:
    """The mean over items of the agreement between the clips of one item."""
    from scipy.stats import rankdata

    rng = np.random.default_rng(effort.seed)
    single: list[Triple] = []
    chance = np.zeros(effort.orders)
    usable = arrays.paired & np.isfinite(arrays.rating)
    for item in range(len(arrays.items)):
        clips = np.flatnonzero(usable & (arrays.item == item))
        values = correlations(-pairs[clips], arrays.rating[clips])
        if math.isnan(values[0]):
            continue
        single.append(values)
        a, b = (rankdata(side) for side in (-pairs[clips], arrays.rating[clips]))
        a, b = a - a.mean(), b - b.mean()
        orders = rng.permuted(np.tile(b, (effort.orders, 1)), axis=1)
        chance += orders @ a / np.sqrt((a @ a) * (b @ b))
    if not single:
        return None
    triples = np.array(single)
    mean = triples.mean(axis=0)
    reached = int((chance >= len(single) * mean[0] - 1e-9).sum())
    draws = rng.integers(len(single), size=(effort.resamples, len(single)))
    enough = len(single) >= _FEWEST_ITEMS
    low, high = interval([_triple(triples[d].mean(axis=0)) for d in draws] if enough else [])
    p_value = (1 + reached) / (1 + effort.orders)
    return Level(WITHIN, len(single), Agreement(_triple(mean), low, high, p_value))


def _draw(rng: np.random.Generator, size: int) -> Indices:
    """How often each of so many items comes in a bootstrap draw."""
    return np.bincount(rng.integers(size, size=size), minlength=size)


def _triple(values: Numbers) -> Triple:
    return float(values[0]), float(values[1]), float(values[2])
