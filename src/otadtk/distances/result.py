"""Results that explain themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Coupling:
    """One entropic transport problem: ⟨T,C⟩, the cost each column carries, and how exact it is."""

    value: float
    column_costs: NDArray[np.float64]
    iterations: int
    marginal_error: float
    """L1 distance of the plan's row and column sums from what they should be."""
    converged: bool


@dataclass(frozen=True, eq=False)
class Divergence:
    """The debiased divergence of two sets and its three terms, all in the "sharp" form ⟨T,C⟩."""

    value: float
    epsilon: float
    cross: Coupling
    self_reference: Coupling
    self_evaluated: Coupling

    @property
    def cj(self) -> NDArray[np.float64]:
        """Transport cost of each evaluated sample (Eq. 7); they sum to ⟨T,C⟩ of the cross term."""
        return self.cross.column_costs

    @property
    def terms(self) -> tuple[Coupling, Coupling, Coupling]:
        """The three transport problems."""
        return self.cross, self.self_reference, self.self_evaluated

    @property
    def converged(self) -> bool:
        """Whether all three terms reached the tolerance."""
        return all(term.converged for term in self.terms)

    @property
    def iterations(self) -> int:
        """Iterations over all three terms."""
        return sum(term.iterations for term in self.terms)

    @property
    def marginal_error(self) -> float:
        """The largest marginal error of the three terms."""
        return max(term.marginal_error for term in self.terms)
