"""Judges single clips, with a bound on the share of false alarms.

Small sets use the whole reference twice: each evaluated clip in turn joins the reference, and is
ranked there by its price among all others; where the evaluated clips can be a crowd, its contrast is
added. In larger sets a part of the reference is held out and joins the evaluated clips, and what is
left of the reference charges all of them. In all three, a clip that is like the reference has every
rank with the same probability (docs/understand/statistics.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from otadtk.errors import UsageError
from otadtk.statistics.conformal import (
    CountArray,
    IndexArray,
    Rivals,
    count_exceeding,
    least_together,
    p_values,
    q_values,
    rank_in_bags,
)
from otadtk.statistics.contrasts import swapped_contrasts
from otadtk.statistics.prices import SWEEPS, FloatArray, prices, swapped_prices
from otadtk.statistics.spoilt import Half, judge_all
from otadtk.statistics.verdicts import DEFAULT_FDR, Verdicts, check_fdr

Squares = Callable[[IndexArray, IndexArray], FloatArray]
"""Squared distances between two subsets of a pool, a row for each clip of the first."""

LEAST_REFERENCE = 2
"""Clips that the reference needs for a verdict."""
_HALVINGS = 3
"""How often the reference is halved for the statements on all clips together."""
_SWAPPED_WORK = 2e9
"""N·M·(N + M) up to which every evaluated clip in turn joins the reference: 1,000 clips a side."""
_CROWD = 100
"""Evaluated clips from which on a usual share of bad ones is a crowd. Fewer, and groups, go by price."""
_CONTRAST = 300.0
"""How much a contrast counts beside a price: both then differ about as much from clip to clip."""
_MOST_PAIRS = 10_000_000
"""Distances that are held at a time. Of larger sets every k-th reference clip charges the others."""


def judge_clips(
    squares: Squares,
    n: int,
    m: int,
    *,
    fdr: float = DEFAULT_FDR,
    seed: int = 0,
    groups: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Verdicts:
    """The verdict on m evaluated clips, which follow the n reference clips in the pool.

    ``groups`` are those of the reference and of the evaluated clips. A clip is compared with
    reference clips of its own group where these are enough; small groups are judged together.
    """
    check_fdr(fdr)
    if n < LEAST_REFERENCE:
        raise UsageError(f"Verdicts need at least {LEAST_REFERENCE} reference clips, not {n}.")
    own, kinds = tuple[str, ...](), ([""] * n, [""] * m)
    if groups is not None:
        own = groups_of_their_own(groups[0], groups[1], fdr)
        kinds = _kinds(groups[0], own), _kinds(groups[1], own)
    dealt = kinds[0] if groups is None else groups[0]
    halves = [half for k in range(_HALVINGS) for half in halve(dealt, [seed, k])]
    seen = [_hold_out(squares, half, kinds) for half in halves]
    spoilt = judge_all(seen, kinds[1], seed=seed)
    if swaps(n, m):
        rivals = _swap(squares, kinds, contrast=crowds(n, m, grouped=groups is not None))
        counts = np.empty(m, dtype=np.int64)
        for group in rivals:
            counts[group.clips] = group.counts
        calibration = _sizes(kinds[0], kinds[1])
    else:
        rivals, counts, calibration = (), seen[0].counts, seen[0].calibration
    p = p_values(counts, calibration)
    return Verdicts(p, q_values(p), fdr, calibration, spoilt, seed, own, rivals)


def swaps(n: int, m: int) -> bool:
    """Whether the sets are so small that every evaluated clip in turn joins the reference."""
    return n * m * (n + m) <= _SWAPPED_WORK


def crowds(n: int, m: int, *, grouped: bool) -> bool:
    """Whether it is asked where the m evaluated clips crowd."""
    return swaps(n, m) and m >= _CROWD and not grouped


def forecast_seconds(n: int, m: int) -> float:
    """About how long the verdicts on m clips take on one core, by the numbers of clips."""
    held_out = 1.2e-7 * 2 * _HALVINGS * min(_MOST_PAIRS, n // 2 * (n // 2 + m))
    if not swaps(n, m):
        return held_out
    return held_out + 6e-11 * SWEEPS * n * m * (n + m) + 1e-10 * (n + m) ** 3


def halve(kinds: Sequence[str], seed: Sequence[int]) -> tuple[IndexArray, IndexArray]:
    """Places of the clips of two random halves; every kind is spread over both."""
    shuffled = np.random.default_rng(seed).permutation(len(kinds))
    order = shuffled[np.argsort(np.asarray(kinds, dtype=object)[shuffled], kind="stable")]
    return np.sort(order[0::2]), np.sort(order[1::2])


def _swap(
    squares: Squares, kinds: tuple[Sequence[str], Sequence[str]], *, contrast: bool
) -> tuple[Rivals, ...]:
    """The ranks of the clips of each kind in the reference of their kind."""
    n, (known, asked) = len(kinds[0]), (np.asarray(side, dtype=object) for side in kinds)
    pool = np.arange(n + len(asked))
    between = squares(pool, pool)
    found = swapped_prices(between, n)
    if contrast:
        found = found.plus(swapped_contrasts(between, n), _CONTRAST)
    return tuple(
        rank_in_bags(found, np.flatnonzero(known == kind), np.flatnonzero(asked == kind))
        for kind in sorted(set(asked))
    )


def _hold_out(
    squares: Squares, held: IndexArray, kinds: tuple[Sequence[str], Sequence[str]]
) -> Half:
    """Evaluated clips among these reference clips, by what the rest of the reference charges."""
    n, (known, asked) = len(kinds[0]), (np.asarray(side, dtype=object) for side in kinds)
    pool = np.concatenate([held, n + np.arange(len(asked))])
    rest = np.delete(np.arange(n), held)
    rest = rest[:: math.ceil(len(rest) * len(pool) / _MOST_PAIRS)]
    found = prices(squares(rest, pool))
    counts = np.zeros(len(asked), dtype=np.int64)
    for kind in set(asked):
        calibration, mine = found[: len(held)][known[held] == kind], asked == kind
        counts[mine] = count_exceeding(calibration, found[len(held) :][mine])
    return Half(counts, _sizes(known[held].tolist(), kinds[1]))


def _sizes(reference: Sequence[str], evaluated: Sequence[str]) -> CountArray:
    """For each evaluated clip the number of reference clips of its kind."""
    sizes = Counter(reference)
    return np.array([sizes[kind] for kind in evaluated], dtype=np.int64)


def groups_of_their_own(
    reference: Sequence[str], evaluated: Sequence[str], fdr: float
) -> tuple[str, ...]:
    """Groups with reference clips enough to find them if all their clips were bad."""
    known, asked = Counter(reference), Counter(evaluated)
    return tuple(
        sorted(
            group
            for group, count in asked.items()
            if least_together(len(evaluated), known[group], fdr) <= count
        )
    )


def _kinds(groups: Sequence[str], own: tuple[str, ...]) -> list[str]:
    """The group of each clip; an empty name for all that are judged together."""
    return [group if group in own else "" for group in groups]
