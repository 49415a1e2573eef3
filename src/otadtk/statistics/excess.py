"""The excess of a score over what chance gives at its size: about 0 for equal distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.statistics.resampling import (
    IndexArray,
    Interval,
    SubsetDistance,
    jackknife_interval,
    require_at_least,
)

SPLITS = 8
_JACKKNIFED = 2
"""Splits behind the interval: of fewer splits it is somewhat too wide, and much faster."""


@dataclass(frozen=True)
class Excess:
    """S(X₁, Y₁) − ½ [S(X₁, X₂) + S(Y₁, Y₂)] over random halves, with a 95 % interval."""

    value: float
    low: float
    high: float
    deviation: float
    """Standard deviation over samples of this size."""
    splits: int
    clips: int
    """In each of the four parts."""
    seed: int

    def unbounded(self) -> Excess:
        """The excess without an interval."""
        return replace(self, low=-math.inf, high=math.inf, deviation=math.inf)


def excess_score(
    distance: SubsetDistance, n: int, m: int, *, splits: int = SPLITS, seed: int = 0, engine: Engine
) -> Excess:
    """The mean excess over seeded splits of both sets into halves of equal size.

    All three scores compare the same numbers of clips, so what chance adds to them cancels: the
    expected excess is 0 if the sets are samples of one distribution. The width of the interval is
    that of a jackknife over clips, in which every clip stays in its part.
    """
    require_at_least(splits, 1, "splits")
    require_at_least(seed, 0, "seed")
    size = min(n, m) // 2
    if size < 3:
        raise UsageError(f"The excess needs at least 6 clips a side, not {min(n, m)}.")
    parts = [_parts(n, m, size, np.random.default_rng([seed, k])) for k in range(splits)]

    def excess(i: IndexArray, j: IndexArray, chosen: slice) -> float:
        kept = np.zeros(n + m, dtype=bool)
        kept[i], kept[j] = True, True
        values = []
        for split in parts[chosen]:
            x, other_x, y, other_y = (part[kept[part]] for part in split)
            within = 0.5 * (distance(x, other_x) + distance(y, other_y))
            values.append(distance(x, y) - within)
        return float(np.mean(values))

    def few(i: IndexArray, j: IndexArray) -> float:
        return excess(i, j, slice(0, _JACKKNIFED))

    found: Interval = jackknife_interval(few, n, m, seed=seed, engine=engine)
    x, y = np.arange(n), n + np.arange(m)
    singles = [slice(k, k + 1) for k in range(splits)]
    values = engine.map(
        lambda: lambda chosen: excess(x, y, chosen), singles, title="excess", unit="split"
    )
    shift = float(np.mean(values)) - found.score
    return Excess(
        found.score + shift,
        found.low + shift,
        found.high + shift,
        found.deviation,
        splits,
        size,
        seed,
    )


def _parts(n: int, m: int, size: int, rng: np.random.Generator) -> tuple[IndexArray, ...]:
    """X₁, X₂, Y₁ and Y₂ of one split, ``size`` clips each."""
    x, y = rng.permutation(n), n + rng.permutation(m)
    return x[:size], x[size : 2 * size], y[:size], y[size : 2 * size]
