"""How much closer to one reference one set is than another: a paired bootstrap, or a jackknife.

In both, all sets are compared with the same reference clips, so the effect of the choice of these
cancels in the difference. With ``paired`` clips, where the k-th clips of all sets belong to one prompt,
the effect of the prompts cancels too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.statistics.jackknife import (
    TAIL,
    limits,
    slope_of_difference,
    variance_between,
    variance_of,
    variance_within,
)
from otadtk.statistics.resampling import (
    FloatArray,
    IndexArray,
    Interval,
    SubsetDistance,
    require_at_least,
)

Method = Literal["bootstrap", "jackknife"]


@dataclass(frozen=True)
class Difference:
    """How much farther from the reference one set is than another, with a 95 % interval."""

    value: float
    low: float
    high: float
    deviation: float
    probability: float
    """That the first set is the closer one, that is of a negative difference."""
    method: Method
    replicates: int
    """How many scores of each set stand behind the interval."""

    @property
    def holds(self) -> bool:
        """Whether there is an interval: both scores have one."""
        return math.isfinite(self.high - self.low)

    @property
    def shown_probability(self) -> str:
        """The probability as it is printed."""
        return show_probability(self.probability, self.method, self.replicates)

    def unbounded(self) -> Difference:
        """The difference without an interval and a probability."""
        return replace(self, low=-math.inf, high=math.inf, deviation=math.inf, probability=math.nan)


def show_probability(probability: float | None, method: str, replicates: int) -> str:
    """The probability as it is printed: a bootstrap cannot tell what is rarer than 1 in R."""
    if probability is None or math.isnan(probability):
        return "none"
    if method == "bootstrap" and probability >= 1.0:
        return f"> {1.0 - 1.0 / replicates:.3f}"
    if method == "bootstrap" and probability <= 0.0:
        return f"< {1.0 / replicates:.3f}"
    return f"{probability:.3f}"


def bootstrap_scores(
    distance: SubsetDistance,
    n: int,
    sizes: Sequence[int],
    *,
    replicates: int = 200,
    paired: bool = False,
    seed: int = 0,
    engine: Engine,
) -> FloatArray:
    """The scores of all sets, a row for each replicate, in which clips are drawn with replacement.

    The n reference clips come first in the pool, then those of each set. A replicate draws the
    reference once for all sets; if ``paired``, the k-th clips of all sets are drawn together.
    """
    require_at_least(replicates, 20, "replicates")
    require_at_least(seed, 0, "seed")
    if paired and len(set(sizes)) > 1:
        raise UsageError(f"Paired sets have equal numbers of clips, not {list(sizes)}.")
    rng = np.random.default_rng(seed)
    starts = n + np.cumsum([0, *sizes[:-1]])
    draws = []
    for _ in range(replicates):
        x = rng.integers(n, size=n)
        once = rng.integers(sizes[0], size=sizes[0])
        chosen = [once] + [once if paired else rng.integers(m, size=m) for m in sizes[1:]]
        draws.append((x, [start + clips for start, clips in zip(starts, chosen, strict=True)]))

    def scores(draw: tuple[IndexArray, list[IndexArray]]) -> list[float]:
        x, sets = draw
        return [distance(x, y) for y in sets]

    rows = engine.map(lambda: scores, draws, title="bootstrap", unit="replicate")
    return np.asarray(rows, dtype=float)


def bootstrap_difference(value: float, first: FloatArray, second: FloatArray) -> Difference:
    """The interval of an observed difference, by the scores of two sets in the same replicates.

    A clip and its copy are at distance 0: drawing itself moves the scores. What it moves the
    difference by on average is taken off, so that the replicates lie around the observed value.
    """
    replicates = first - second
    centred = replicates - replicates.mean() + value
    low, high = np.quantile(centred, [TAIL, 1.0 - TAIL])
    closer = float(np.mean(centred < 0) + 0.5 * np.mean(centred == 0))
    deviation = float(centred.std(ddof=1))
    return Difference(
        value, float(low), float(high), deviation, closer, "bootstrap", len(replicates)
    )


def jackknife_difference(
    first: Interval, second: Interval, *, paired: bool = False, tail: float = TAIL
) -> Difference:
    """How much larger the first score is than the second, for one and the same reference set.

    The difference is a score too: groups of clips that both scores share are left out of both at
    once. The probability takes the variance of a difference of 0, so that it is above 97.5 % where the
    interval is below 0. ``tail`` is what the interval leaves out on each side.
    """
    if (first.groups, first.seed) != (second.groups, second.seed):
        raise UsageError("Only intervals of the same groups and seed can be compared.")
    own, other = first.without, second.without
    x, y, z = (len(s.groups) for s in (own.reference, own.evaluated, other.evaluated))
    if x != len(other.reference.groups) or (paired and y != z):
        raise UsageError("The two scores do not belong to the same clips.")
    value = first.score - second.score
    estimate = variance_within(value, own.reference.minus(other.reference))
    if paired:
        estimate += variance_within(value, own.evaluated.minus(other.evaluated))
        estimate += variance_between(value, own.minus(other))
        freedom = x + y - 2
    else:
        for each in (first, second):
            estimate += variance_within(each.score, each.without.evaluated)
            estimate += variance_between(each.score, each.without)
        freedom = x + y + z - 3
    slope = slope_of_difference(
        variance_of(first.score, own), variance_of(second.score, other), estimate
    )
    low, high = limits(value, estimate, slope, freedom, tail)
    if_equal = estimate.variance_at(-value, slope) ** 0.5
    if if_equal > 0:
        from scipy.special import stdtr

        probability = float(stdtr(freedom, -value / if_equal))
    else:  # the same clips twice
        probability = 0.5 if value == 0 else float(value < 0)
    deviation = estimate.variance**0.5
    found = Difference(value, low, high, deviation, probability, "jackknife", own.count)
    return found if first.holds and second.holds else found.unbounded()
