"""What agreement the listeners themselves allow: their reliability, and one against the rest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from otadtk.experiments.listening.correlation import spearman
from otadtk.experiments.listening.sets import Numbers

_FEWEST_RATERS = 2
_FEWEST_OBJECTS = 3


@dataclass(frozen=True)
class Reliability:
    """How well the mean rating of all listeners would come out again, by Spearman's ρ."""

    raters: int
    objects: int
    split_half: float
    """The mean ρ between the means of two random halves of the listeners."""
    one_against_rest: float
    """The mean over listeners of ρ between one of them and the mean of the others."""

    @property
    def reliability(self) -> float:
        """Of the mean over all listeners, by Spearman and Brown's formula; not below 0."""
        r = self.split_half
        return 2.0 * r / (1.0 + r) if r > 0.0 else 0.0

    @property
    def ceiling(self) -> float:
        """The agreement that a perfect metric can be expected to reach: √reliability."""
        return math.sqrt(self.reliability)


def reliability(table: Numbers, *, splits: int = 200, seed: int = 0) -> Reliability | None:
    """The reliability of listeners × objects, NaN for what was not rated; ``None`` for too few."""
    table = table[np.isfinite(table).any(axis=1)]
    raters, objects = table.shape
    if raters < _FEWEST_RATERS or objects < _FEWEST_OBJECTS:
        return None
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(splits):
        order = rng.permutation(raters)
        halves.append(
            _agree(_mean(table[order[: raters // 2]]), _mean(table[order[raters // 2 :]]))
        )
    alone = [_agree(table[i], _mean(np.delete(table, i, axis=0))) for i in range(raters)]
    split_half, one = (_mean_of_known(values) for values in (halves, alone))
    return None if math.isnan(split_half) else Reliability(raters, objects, split_half, one)


def ratings_table(objects: Sequence[Mapping[str, float]]) -> Numbers:
    """Listeners × objects, from the ratings of each object by listener; NaN where there is none."""
    raters = {name: row for row, name in enumerate(dict.fromkeys(r for o in objects for r in o))}
    table = np.full((len(raters), len(objects)), math.nan)
    for column, given in enumerate(objects):
        for rater, value in given.items():
            table[raters[rater], column] = value
    return table


def _agree(x: Numbers, y: Numbers) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    return spearman(x[both], y[both]) if both.sum() >= _FEWEST_OBJECTS else math.nan


def _mean(table: Numbers) -> Numbers:
    with warnings.catch_warnings():  # an object that nobody of these rated
        warnings.simplefilter("ignore", RuntimeWarning)
        found: Numbers = np.nanmean(table, axis=0)
    return found


def _mean_of_known(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
