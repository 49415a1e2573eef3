"""Correlations of distances with ratings: three statistics, exact or sampled p, intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from otadtk.errors import UsageError
from otadtk.experiments.listening.sets import Numbers

STATISTICS = ("spearman", "kendall", "pearson")
EXACT_UP_TO = 8
"""Objects up to which all orders are tried: 8! = 40,320."""
_LEVEL = (0.025, 0.975)
_SLACK = 1e-9
_FEWEST_REPLICATES = 20

Triple = tuple[float, float, float]
"""Spearman's ρ, Kendall's τ_b, Pearson's r; NaN where one side is constant."""
UNDEFINED: Triple = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Agreement:
    """How far two sides agree: statistics, their 95 % intervals, and p against chance."""

    values: Triple
    low: Triple = UNDEFINED
    high: Triple = UNDEFINED
    p_value: float = math.nan
    """One-sided: how often chance agrees at least as well, by Spearman's ρ."""
    exact: bool = False
    """Whether p comes from all orders."""


def correlations(x: Numbers, y: Numbers) -> Triple:
    """The three statistics of paired values; ties share their mean rank."""
    from scipy.stats import kendalltau, rankdata

    if len(x) != len(y):
        raise UsageError(f"A correlation needs pairs, not {len(x)} and {len(y)} values.")
    if len(x) < 3 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return UNDEFINED
    tau = float(kendalltau(x, y).statistic)
    return pearson(rankdata(x), rankdata(y)), tau, pearson(x, y)


def pearson(x: Numbers, y: Numbers) -> float:
    """Pearson's r; NaN where one side is constant."""
    a, b = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(a @ a) * float(b @ b))
    return math.nan if spread == 0.0 else max(-1.0, min(1.0, float(a @ b) / spread))


def spearman(x: Numbers, y: Numbers) -> float:
    """Spearman's ρ; ties share their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(x), rankdata(y))


def permutation_p(
    x: Numbers, y: Numbers, *, orders: int = 9999, seed: int = 0
) -> tuple[float, bool]:
    """(p, whether it is exact): the share of orders of y whose ρ with x is at least the one found.

    All orders are tried for few values; for more, ``orders`` random ones and the one found.
    """
    from scipy.stats import rankdata

    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return math.nan, False
    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    exact = len(x) <= EXACT_UP_TO
    if exact:
        tried = b[np.array(list(itertools.permutations(range(len(b)))))]
    else:
        tried = np.random.default_rng(seed).permuted(np.tile(b, (orders, 1)), axis=1)
    reached = int((tried @ a >= a @ b - _SLACK).sum())
    return (reached / len(tried), True) if exact else ((1 + reached) / (1 + orders), False)


def interval(replicates: Sequence[Triple]) -> tuple[Triple, Triple]:
    """The 95 % percentile interval of each statistic over bootstrap replicates.

    Replicates without a value do not count; NaN where too few are left.
    """
    ends: list[list[float]] = [[], []]
    for column in np.array(replicates, dtype=float).reshape(-1, len(STATISTICS)).T:
        known = column[np.isfinite(column)]
        enough = len(known) >= _FEWEST_REPLICATES
        low, high = np.quantile(known, _LEVEL) if enough else (math.nan, math.nan)
        ends[0].append(float(low))
        ends[1].append(float(high))
    return (ends[0][0], ends[0][1], ends[0][2]), (ends[1][0], ends[1][1], ends[1][2])
