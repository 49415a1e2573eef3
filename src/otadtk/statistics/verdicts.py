"""Which clips are worse than chance allows, with a bound on the share of false alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.statistics.conformal import (
    FOLDS,
    ClipCosts,
    FloatArray,
    IndexArray,
    deal_folds,
    held_out_counts,
    least_together,
    p_values,
    q_values,
    reference_needed,
)
from otadtk.statistics.spoilt import Half, Spoilt, judge_all

DEFAULT_FDR = 0.1
_HALVINGS = 3
"""How often the reference is halved for the statements on all clips together."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The p-value, q-value and verdict of every clip of one side."""

    p: FloatArray
    """Conformal p-values: small where a clip costs more than reference clips do."""
    q: FloatArray
    """The rate of false alarms at which each clip is still called bad."""
    fdr: float
    """The expected share of false alarms among the bad clips, at most."""
    calibration: NDArray[np.int64]
    """With how many reference clips each clip was compared."""
    spoilt: Spoilt
    """What all p-values say together."""
    folds: int
    seed: int
    own_groups: tuple[str, ...] = ()
    """Groups whose clips were compared with their own kind only."""

    @property
    def bad(self) -> NDArray[np.bool_]:
        """Which clips are worse than chance allows."""
        return self.q <= self.fdr

    @property
    def least_together(self) -> int:
        """How many clips must be bad at once for any to be found."""
        return least_together(len(self.p), int(self.calibration.max()), self.fdr)

    @property
    def possible(self) -> bool:
        """Whether any clip can be found at all."""
        return self.least_together <= len(self.p)

    def at(self, fdr: float) -> Verdicts:
        """The verdicts at another rate of false alarms."""
        return replace(self, fdr=check_fdr(fdr))

    def sentence(self, clips: str = "clips") -> str:
        """The result in one line."""
        found = int(self.bad.sum())
        percent = f"{100 * self.fdr:g} %"
        if found == 0:
            return f"none of {len(self.p)} {clips} is worse than chance allows (at {percent})"
        verb = "is" if found == 1 else "are"
        return (
            f"{found} of {len(self.p)} {clips} {verb} worse than chance allows (at most {percent} "
            f"of these in expectation)"
        )

    def shortage(self) -> str | None:
        """A line on too few reference clips, where few bad clips cannot be found; else None."""
        count, least = len(self.p), self.least_together
        if least <= max(1, round(_FEW * count)):
            return None
        several = max(1, round(_FEW * count))
        needed = reference_needed(count, self.fdr, several)
        clips = "1 bad clip" if several == 1 else f"{several} bad clips"
        if not self.possible:
            return (
                f"too few reference clips for any verdict: finding {clips} of {count} at "
                f"{100 * self.fdr:g} % needs {needed}, not {int(self.calibration.max())}"
            )
        return (
            f"with {int(self.calibration.max())} reference clips only {least} or more bad clips of "
            f"{count} can be found; finding {clips} needs {needed}"
        )


_FEW = 0.05
"""The share of bad clips that a reference should be large enough to find."""


def judge_clips(
    costs: ClipCosts,
    reference: IndexArray,
    evaluated: IndexArray,
    *,
    fdr: float = DEFAULT_FDR,
    folds: int = FOLDS,
    seed: int = 0,
    groups: tuple[Sequence[str], Sequence[str]] | None = None,
    engine: Engine,
) -> Verdicts:
    """The verdict on every evaluated clip, from its costs against all folds of the reference.

    ``groups`` are those of the reference and of the evaluated clips. A clip is compared with
    reference clips of its own group where these are enough; small groups are judged together.
    """
    check_fdr(fdr)
    own, kinds = tuple[str, ...](), ([""] * len(reference), [""] * len(evaluated))
    if groups is not None:
        own = groups_of_their_own(groups[0], groups[1], fdr)
        kinds = _kinds(groups[0], own), _kinds(groups[1], own)
    dealt = kinds[0] if groups is None else groups[0]
    parts = deal_folds(dealt, folds, [seed])
    halves = [half for k in range(_HALVINGS) for half in deal_folds(dealt, 2, [seed, k])]
    counts = held_out_counts(
        costs, reference, evaluated, [*parts, *halves], kinds=kinds, engine=engine
    )
    calibration = _sizes(kinds[0], kinds[1])
    p = p_values(counts[: len(parts)].sum(axis=0), calibration)
    seen = [
        Half(found, _sizes([kinds[0][i] for i in half], kinds[1]))
        for half, found in zip(halves, counts[len(parts) :], strict=True)
    ]
    spoilt = judge_all(seen, kinds[1], seed=seed)
    return Verdicts(p, q_values(p), fdr, calibration, spoilt, len(parts), seed, own)


def _sizes(reference: Sequence[str], evaluated: Sequence[str]) -> NDArray[np.int64]:
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


def check_fdr(fdr: float) -> float:
    """The rate, if it is one."""
    if not 0.0 < fdr < 1.0:
        raise UsageError(f"The rate of false alarms must lie between 0 and 1, not {fdr}.")
    return fdr
