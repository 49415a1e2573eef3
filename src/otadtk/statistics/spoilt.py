"""Whether some clips are spoilt, and which share: one p-value and an interval.

Half of the reference is held out. If all evaluated clips are like the reference, their p-values among
the held-out clips have one joint law, whatever the costs are: all are in random order (Gazin,
Blanchard and Roquain, Transductive conformal inference with adaptive scores, 2024). That law is drawn
here, and what was observed is compared with it. Each half is exact by itself; several are combined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.statistics.conformal import p_values
from otadtk.statistics.prices import FloatArray
from otadtk.statistics.quantiles import quantile_above

DRAWS = 999
_TAIL = 0.0125
"""What the bound of one half leaves out. The median of several bounds may leave out twice that."""
_NORMAL = 2.2414
"""The normal quantile of that tail."""
_LARGEST = 4_000_000
"""Numbers that are drawn at a time."""


@dataclass(frozen=True)
class Share:
    """The share of the evaluated clips that are spoilt, between 0 and 1, with a 95 % interval.

    ``low`` holds without further assumptions. ``high`` assumes that spoilt clips cost more than the
    median reference clip; clips that cost no more cannot be told from good ones.
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Spoilt:
    """What the p-values of all evaluated clips say together."""

    p_value: float
    """Of "no evaluated clip is worse than the reference"."""
    share: Share


@dataclass(frozen=True, eq=False)
class Half:
    """What one held-out half of the reference says of every evaluated clip."""

    counts: NDArray[np.int64]
    """How many held-out clips cost at least as much."""
    calibration: NDArray[np.int64]
    """Of how many: those of the clip's own kind."""


def judge_all(halves: Sequence[Half], kinds: Sequence[str], *, seed: int = 0) -> Spoilt:
    """The p-value of "no clip is spoilt" and the share of spoilt clips.

    The p-values of the halves are combined by Cauchy's rule (Liu and Xie, 2020), which allows for
    their dependence; of the bounds of the share the medians count. ``kinds`` are those of the
    evaluated clips: each was compared with held-out clips of its own kind.
    """
    members = np.asarray(kinds, dtype=object)
    laws: dict[bytes, FloatArray] = {}
    ranks: list[float] = []
    shares: list[Share] = []
    for half in halves:
        key = half.calibration.tobytes()
        if key not in laws:
            laws[key] = _draw(half.calibration, members, seed)
        drawn, p = laws[key], p_values(half.counts, half.calibration)
        height = float(_heights(p[None], half.calibration)[0])
        ranks.append((1 + int(np.sum(drawn >= height - 1e-9 * abs(height)))) / (1 + len(drawn)))
        band = quantile_above(drawn, 1.0 - _TAIL)
        shares.append(_share(p, half.calibration, band))
    values = np.median([(s.estimate, s.low, s.high) for s in shares], axis=0).tolist()
    return Spoilt(_combined(ranks), Share(values[0], values[1], values[2]))


def _combined(ranks: Sequence[float]) -> float:
    """One p-value of several dependent ones: their mean as Cauchy variables."""
    below_one = np.minimum(ranks, 1.0 - 1e-3)  # a p of 1 would outweigh all others
    mean = float(np.mean(np.tan((0.5 - below_one) * np.pi)))
    return 0.5 - math.atan(mean) / math.pi


def _draw(calibration: NDArray[np.int64], members: NDArray[np.object_], seed: int) -> FloatArray:
    """The heights of clips that are like the reference, in many random orders."""
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(members == kind) for kind in sorted(set(members))]
    sizes = [int(calibration[mine[0]]) for mine in groups]
    step = max(1, _LARGEST // (sum(sizes) + len(calibration)))
    heights = []
    for start in range(0, DRAWS, step):
        draws = min(step, DRAWS - start)
        drawn = np.empty((draws, len(calibration)))
        for mine, size in zip(groups, sizes, strict=True):
            drawn[:, mine] = _random_p(rng, draws, size, len(mine))
        heights.append(_heights(drawn, calibration))
    return np.concatenate(heights)


def _random_p(rng: np.random.Generator, draws: int, n: int, m: int) -> FloatArray:
    """The p-values of m clips among n reference clips, all in random order."""
    order = rng.random((draws, n + m)).argsort(axis=1)
    reference = order < n
    above = reference[:, ::-1].cumsum(axis=1)[:, ::-1]
    found: FloatArray = (1.0 + above[~reference].reshape(draws, m)) / (1.0 + n)
    return found


def _heights(p: FloatArray, calibration: NDArray[np.int64]) -> FloatArray:
    """How far the number of small p-values is above the expected one, in deviations, at most.

    The higher criticism of Donoho and Jin over the smaller half of the p-values.
    """
    m, n = p.shape[1], max(1.0, float(calibration.mean()))
    ordered = np.sort(p, axis=1)[:, : max(1, m // 2)]
    number = np.arange(1, ordered.shape[1] + 1)
    return np.asarray(((number - m * ordered) / _deviation(ordered, m, n)).max(axis=1))


def _deviation(p: FloatArray, m: int, n: float) -> FloatArray:
    """Of the number of p-values up to p, of m clips among n reference clips."""
    return np.sqrt(np.maximum(m * p * (1.0 - p) * (1.0 + m / n), 1e-12))


def _share(p: FloatArray, calibration: NDArray[np.int64], band: float) -> Share:
    m, n = len(p), max(1.0, float(calibration.mean()))
    ordered = np.sort(p)[: max(1, m // 2)]
    number = np.arange(1, len(ordered) + 1)
    # of the clips with p up to a bound, so many more than good clips ever are
    excess = number - m * ordered - band * _deviation(ordered, m, n)
    least = max(0, math.ceil(float(excess.max()) - 1e-9))
    cheap = int(np.sum(p > 0.5))  # half of the good clips, give or take
    estimate = max(0.0, 1.0 - 2.0 * cheap / m)
    fewest_good = _fewest_good(cheap, m, n)
    low = least / m
    return Share(max(low, estimate), low, max(low, 1.0 - fewest_good / m))


def _fewest_good(cheap: int, m: int, n: float) -> float:
    """The smallest g with g/2 + 2.24·√(g/4 + g²/4n) ≥ cheap: so few good clips may have given it."""
    low, high = 0.0, float(m)
    for _ in range(60):
        good = 0.5 * (low + high)
        reach = 0.5 * good + 0.5 * _NORMAL * math.sqrt(good + good * good / n)
        low, high = (good, high) if reach < cheap else (low, good)
    return high
