"""Which clips are worse than chance allows: the verdicts on the clips of one side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
from otadtk.statistics.conformal import (
    CountArray,
    Rivals,
    chosen_by_e,
    least_together,
    reference_needed,
)
from otadtk.statistics.prices import FloatArray
from otadtk.statistics.resampling import SIGNIFICANT
from otadtk.statistics.spoilt import Spoilt

DEFAULT_FDR = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """The p-value, q-value and verdict of every clip of one side."""

    p: FloatArray
    """Conformal p-values: small where a clip costs more than reference clips do."""
    q: FloatArray
    """The rate of false alarms at which each clip is still called bad."""
    fdr: float
    """The expected share of false alarms among the bad clips, at most."""
    calibration: CountArray
    """With how many reference clips each clip was compared."""
    spoilt: Spoilt
    """What all p-values say together."""
    seed: int
    own_groups: tuple[str, ...] = ()
    """Groups whose clips were compared with their own kind only."""
    rivals: tuple[Rivals, ...] = ()
    """The ranks behind the e-values; empty if a part of the reference was held out."""

    def __repr__(self) -> str:
        return f"Verdicts({self.sentence()})"

    @property
    def method(self) -> str:
        """Whether every clip was "swapped" into the reference or a part of that was "held out"."""
        return "swapped" if self.rivals else "held out"

    @property
    def bad(self) -> NDArray[np.bool_]:
        """Which clips are worse than chance allows."""
        return self.q <= self.fdr

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Clips for which the bound on the share of false alarms is proven; mostly fewer.

        Of swapped clips every p-value is exact, but not how they depend on each other, which the
        procedure of Benjamini and Hochberg relies on. E-values do not.
        """
        if not self.rivals:
            return self.bad
        e = np.zeros(len(self.p))
        for group in self.rivals:
            e[group.clips] = group.e_values(self.fdr)
        return chosen_by_e(e, self.fdr)

    @property
    def least_together(self) -> int:
        """How many clips must be bad at once for any to be found."""
        return least_together(len(self.p), int(self.calibration.max()), self.fdr)

    @property
    def possible(self) -> bool:
        """Whether any clip can be found at all."""
        return self.least_together <= len(self.p)

    @property
    def found(self) -> bool:
        """Whether clips are called bad, or all together are worse than chance allows."""
        return self.possible and (bool(self.bad.any()) or self.spoilt.p_value <= SIGNIFICANT)

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
        proven = int(self.proven.sum())
        by_proof = f"; {proven} by a proven bound" if 0 < proven < found else ""
        return (
            f"{found} of {len(self.p)} {clips} {verb} worse than chance allows (at most {percent} "
            f"of these in expectation{by_proof})"
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


def check_fdr(fdr: float) -> float:
    """The rate, if it is one."""
    if not 0.0 < fdr < 1.0:
        raise UsageError(f"The rate of false alarms must lie between 0 and 1, not {fdr}.")
    return fdr
