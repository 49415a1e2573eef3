"""The variance of a score between two sets, by leaving out one group of their clips, and two.

A score is a sum of what each group of clips adds by itself, what pairs of groups add together, and
so on. The jackknife, which leaves out one group at a time, counts the variance of the pairs twice
(Efron and Stein, The jackknife estimate of variance, Annals of Statistics 9, 1981): a score between
two samples of one distribution, which consists of such pairs only, gets twice its variance. Leaving
out two groups shows what they add together, and that is subtracted once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError

IndexArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Draw = tuple[IndexArray, IndexArray]
"""The reference and the evaluated clips that a score is taken of."""

TAIL = 0.025
"""What a 95 % interval leaves out on each side."""
_DIRECTIONS = 64
"""Over how many equal directions a squared distance is taken to vary; see ``JackknifeVariance.slope``."""


@dataclass(frozen=True)
class Side:
    """The scores without some groups of clips of one side."""

    groups: tuple[float, ...]
    """Without each group in turn."""
    pairs: tuple[float, ...]
    """Without the first and the second group, the third and the fourth, and so on."""

    def minus(self, other: Side) -> Side:
        """The same for the difference of two scores."""
        return Side(_minus(self.groups, other.groups), _minus(self.pairs, other.pairs))


@dataclass(frozen=True)
class Without:
    """The scores without some groups of clips."""

    reference: Side
    evaluated: Side
    both: tuple[float, ...]
    """Without the k-th groups of both sides; the side of fewer groups begins anew."""

    @property
    def count(self) -> int:
        """How many scores these are."""
        sides = (self.reference, self.evaluated)
        return len(self.both) + sum(len(side.groups) + len(side.pairs) for side in sides)

    def minus(self, other: Without) -> Without:
        """The same for the difference of two scores."""
        return Without(
            self.reference.minus(other.reference),
            self.evaluated.minus(other.evaluated),
            _minus(self.both, other.both),
        )


@dataclass(frozen=True)
class JackknifeVariance:
    """What the jackknife sees of the variance of a score, and how much of that it sees twice."""

    seen: float
    twice: float

    def __add__(self, other: JackknifeVariance) -> JackknifeVariance:
        """Of groups that are drawn independently."""
        return JackknifeVariance(self.seen + other.seen, self.twice + other.twice)

    @property
    def interactions(self) -> float:
        """The variance of what groups add together: at most half of what is seen.

        What three and more groups add together, as for optimal transport at a small ε, shows in
        every pair of them and would be taken off more than once.
        """
        return min(self.twice, 0.5 * self.seen)

    @property
    def variance(self) -> float:
        """That of the score over samples of this size."""
        return self.seen - self.interactions

    @property
    def slope(self) -> float:
        """By how much the variance rises with the expected score: κ = √(8 V₂ / K).

        That is so for a squared distance which varies evenly over K directions, with V₂ the variance
        of the interactions; for a mean V₂ = 0.
        """
        return math.sqrt(8.0 * self.interactions / _DIRECTIONS)

    def variance_at(self, step: float, slope: float) -> float:
        """The variance if the expected score lies so far above the observed one; V₂ at least."""
        return max(self.interactions, self.variance + slope * step)


def scores_without(
    n: int,
    m: int,
    groups: int,
    seed: int,
    score: Callable[[Sequence[Draw]], FloatArray],
    whole: float | None = None,
) -> tuple[float, Without]:
    """The score of all clips and those without groups of them; ``score`` is called once.

    The same seed deals a side of the same number of clips the same way again. ``whole`` is the
    score of all clips, if it is known.
    """
    x, y = np.arange(n), n + np.arange(m)
    of_x, of_y = _deal(x, groups, seed), _deal(y, groups, seed)
    together = range(max(len(of_x), len(of_y)))
    parts: list[list[Draw]] = [
        [(x, y)] if whole is None else [],
        [(_without(x, a), y) for a in of_x],
        [(_without(x, a, b), y) for a, b in _pairs(of_x)],
        [(x, _without(y, b)) for b in of_y],
        [(x, _without(y, a, b)) for a, b in _pairs(of_y)],
        [(_without(x, of_x[k % len(of_x)]), _without(y, of_y[k % len(of_y)])) for k in together],
    ]
    values = iter(score([draw for part in parts for draw in part]).tolist())
    own, *found = (tuple(islice(values, len(part))) for part in parts)
    return own[0] if whole is None else whole, Without(
        Side(found[0], found[1]), Side(found[2], found[3]), found[4]
    )


def variance_within(score: float, side: Side) -> JackknifeVariance:
    """What the score owes to the choice of the clips of one side, of g groups.

    Q = g S − (g − 1)(S₍ₐ₎ + S₍ᵦ₎) + (g − 2) S₍ₐᵦ₎ is 0 for a mean and for what falls with 1/g.
    For a mean over all pairs of groups, var Q = 4 s² / (g − 1)(g − 3) if s² is the variance of one;
    the variance of the score is 2 s² / g (g − 1), and the jackknife sees 4 s² / g (g − 2).
    """
    without, pairs, g = np.asarray(side.groups), np.asarray(side.pairs), len(side.groups)
    seen = (g - 1) / g * float(np.sum((without - without.mean()) ** 2))
    if len(pairs) == 0:
        return JackknifeVariance(seen, 0.0)
    first, second = without[: 2 * len(pairs)].reshape(-1, 2).T
    together = g * score - (g - 1) * (first + second) + (g - 2) * pairs
    return JackknifeVariance(seen, (g - 3) / (2 * (g - 2)) * float(np.var(together, ddof=1)))


def variance_between(score: float, without: Without) -> JackknifeVariance:
    """What the score owes to pairs of groups of both sides: each side's jackknife has seen it.

    I = S − S₍ₐ₎ − S₍ᵦ₎ + S₍ₐᵦ₎ is 0 where group a of one side and b of the other just add up.
    For a mean over all g·h pairs, var I = s² / g h (g − 1)(h − 1), that of the score is s² / g h.
    The variance and not the mean square, because a bias that does not fall with 1/N has a share in
    every I.
    """
    both = np.asarray(without.both)
    x, y = (np.asarray(side.groups) for side in (without.reference, without.evaluated))
    together = score - np.resize(x, len(both)) - np.resize(y, len(both)) + both
    return JackknifeVariance(0.0, (len(x) - 1) * (len(y) - 1) * float(np.var(together, ddof=1)))


def variance_of(score: float, without: Without) -> JackknifeVariance:
    """What the score owes to the choice of all its clips."""
    sides = variance_within(score, without.reference) + variance_within(score, without.evaluated)
    return sides + variance_between(score, without)


def slope_of_difference(
    first: JackknifeVariance, second: JackknifeVariance, difference: JackknifeVariance
) -> float:
    """By how much the variance of a difference rises with it.

    A larger difference is a higher first score and a lower second one, each in proportion to its
    variance; and of what either adds to the variance only the share that does not cancel is left.
    """
    total = first.variance + second.variance
    if total == 0.0:
        return 0.0
    rise = (first.slope * first.variance - second.slope * second.variance) / total
    return rise * difference.variance / total


def limits(
    score: float, estimate: JackknifeVariance, slope: float, freedom: int, tail: float = TAIL
) -> tuple[float, float]:
    """The interval of the expected score, 95 % by default: all θ with (S − θ)² ≤ t² V(θ).

    V(θ) = V + κ (θ − S), and V₂ at least: a score that is low by chance brings too small a variance
    with it, and S ± t √V would miss the expected score on that side. Without a slope it is S ± t √V.
    """
    from scipy.special import stdtrit  # slow to import, and floors need none of it

    t = float(stdtrit(freedom, 1.0 - tail))
    shift, least = 0.5 * t * t * slope, t * math.sqrt(estimate.interactions)
    reach = math.sqrt(shift**2 + t * t * estimate.variance)
    return score - max(reach - shift, least), score + max(reach + shift, least)


def _minus(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(a - b for a, b in zip(first, second, strict=True))


def _deal(side: IndexArray, groups: int, seed: int) -> list[IndexArray]:
    """The groups of a side, of two clips or more."""
    count = min(groups, len(side) // 2)
    if count < 3:
        raise UsageError(f"An interval needs at least 6 clips a side, not {len(side)}.")
    order = np.random.default_rng(seed).permutation(side)
    return [order[k::count] for k in range(count)]


def _pairs(groups: list[IndexArray]) -> list[tuple[IndexArray, IndexArray]]:
    """Disjoint pairs of groups; none of three groups, where no pair would be left."""
    if len(groups) < 4:
        return []
    return list(zip(groups[::2], groups[1::2], strict=False))


def _without(side: IndexArray, *groups: IndexArray) -> IndexArray:
    return np.setdiff1d(side, np.concatenate(groups), assume_unique=True)
