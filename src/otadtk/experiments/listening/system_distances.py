"""Distances of systems from their references: paired, as sets, and from other items' references."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.distances.subsets import SubsetDistance
from otadtk.experiments.listening.arrays import Arrays, Indices
from otadtk.experiments.listening.sets import Numbers

_FEWEST_SPLIT = 4
"""Items from which on halves of them are compared."""

SystemValues = Callable[[Indices, np.random.Generator | None], Numbers]
"""A distance of every system over items that count so often; NaN where there is none.

The generator is that of a bootstrap draw; the estimate itself is asked for without one.
"""


def paired_values(arrays: Arrays, pairs: Numbers) -> SystemValues:
    """The mean distance of a system's clips to their twins."""

    def values(counts: Indices, rng: np.random.Generator | None) -> Numbers:
        weights = np.where(arrays.paired, counts[arrays.item], 0)
        size = len(arrays.systems)
        total = np.bincount(arrays.system, weights * np.nan_to_num(pairs), size)
        times = np.bincount(arrays.system, weights, size)
        return _ratio(total, times)

    return values


@dataclass(frozen=True)
class SetDistance:
    """A distance between sets of sounds, given by their rows in the pool."""

    precise: SubsetDistance
    """To the metric's own tolerance, for the estimate."""
    quick: SubsetDistance
    """For bootstrap draws."""
    fewest: int
    """Sounds that a set must have."""

    def between(self, rng: np.random.Generator | None) -> SubsetDistance:
        """The one for an estimate, or for a draw of this generator."""
        return self.precise if rng is None else self.quick


def set_values(arrays: Arrays, distance: SetDistance) -> SystemValues:
    """The distance between a system's clips and their twins as two sets."""

    def values(counts: Indices, rng: np.random.Generator | None) -> Numbers:
        between = distance.between(rng)
        found = np.full(len(arrays.systems), math.nan)
        for system in range(len(arrays.systems)):
            clips = arrays.clips_of(system, counts)
            clips = clips[arrays.paired[clips]]
            if len(np.unique(clips)) >= distance.fewest:
                found[system] = between(arrays.twins[clips], arrays.rows[clips])
        return found

    return values


def apart_values(arrays: Arrays, distance: SetDistance, *, splits: int, seed: int) -> SystemValues:
    """The distance between a system's clips and references of other items.

    Half of the items give the clips, the other half the references, and the other way round: the
    mean over halves, of which a bootstrap draw takes a random one. If no clip has a twin, all
    clips meet all references. With fewer than four items there are no values.
    """

    def values(counts: Indices, rng: np.random.Generator | None) -> Numbers:
        between, size = distance.between(rng), len(arrays.systems)
        total, times = np.zeros(size), np.zeros(size)
        present = np.flatnonzero(counts)
        if arrays.twinless:
            sides = [present]
        elif len(present) < _FEWEST_SPLIT:
            sides = []
        elif rng is None:
            sides = halves(present, splits, np.random.default_rng(seed))
        else:
            sides = halves(present, 1, rng)
        for side in sides:
            inside = np.where(np.isin(np.arange(len(counts)), side), counts, 0)
            for system in range(size):
                clips = arrays.clips_of(system, inside)
                others = arrays.strangers(clips, counts - inside)
                if min(len(np.unique(clips)), len(np.unique(others))) >= distance.fewest:
                    total[system] += between(others, arrays.rows[clips])
                    times[system] += 1
        return _ratio(total, times)

    return values


def halves(items: Indices, splits: int, rng: np.random.Generator) -> list[Indices]:
    """Both halves of some random splits of the items; all splits where there are no more."""
    size = len(items) // 2
    if math.comb(len(items), size) <= splits:
        first = [np.array(half) for half in itertools.combinations(items.tolist(), size)]
    else:
        first = [rng.permutation(items)[:size] for _ in range(splits)]
    return [side for half in first for side in (half, np.setdiff1d(items, half))]


def _ratio(total: NDArray[Any], times: NDArray[Any]) -> Numbers:
    """The quotient; NaN where nothing was counted."""
    empty = np.full(len(total), math.nan)
    return np.asarray(np.divide(total, times, out=empty, where=times > 0))
