"""A solved plan as the certificate sees it: potentials, marginals, costs, and a product with T."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.rounding import Rounding
from otadtk.distances.transport.sparse.laplacian import conjugate_gradients

_STEPS = 30

Progress = Callable[[str, int, float], None]
"""Called with the term being solved, the iteration, and the marginal error there."""


def no_progress(term: str, iteration: int, error: float) -> None:
    """Ignores the progress."""


@dataclass(frozen=True)
class PlanSums:
    """Sums over T_ij = a_i b_j exp((f_i + g_j − C_ij)/ε), in float64."""

    rows: FloatArray
    """Σ_j T_ij."""
    columns: FloatArray
    """Σ_i T_ij."""
    row_costs: FloatArray
    """Σ_j T_ij C_ij."""
    column_costs: FloatArray
    """Σ_i T_ij C_ij."""
    variance: float
    """Variance of (C − f ⊕ g)/ε under T, at most."""
    dropped: float = 0.0
    """Mass of the entries that were left out of all the sums above, at most."""
    unpaid: float = 0.0
    """Cost of T that f ⊕ g does not know of, at most: where an exponent was clipped, or C is rough."""
    cost_error: float = 0.0
    """Rounding of the sum of the costs, at most."""


class Plan(ABC):
    """A plan with its potentials and sums; products with it correct its marginals."""

    f: FloatArray
    g: FloatArray
    sums: PlanSums
    rounding: Rounding
    """How far the costs behind T = a b exp((f ⊕ g − C̃)/ε) are from the true ones."""
    precision: float
    """Relative error of the products with T, at most."""
    costly = False
    """Whether a product with T computes all costs anew."""

    @abstractmethod
    def apply(self, beta: FloatArray) -> FloatArray:
        """T β, for a vector or for the columns of a matrix."""

    @abstractmethod
    def apply_transposed(self, alpha: FloatArray) -> FloatArray:
        """Tᵀ α, for a vector or for the columns of a matrix."""

    def apply_both(self, beta: FloatArray) -> FloatArray:
        """Tᵀ diag(1/r) T β for the row sums r."""
        return self.apply_transposed(self.apply(beta) / self.sums.rows)

    def column_correction(
        self, a: FloatArray, b: FloatArray, goal: float
    ) -> tuple[FloatArray, FloatArray]:
        """(β, residual of the columns) of r α + T β = a − r, Tᵀ α + c β = b − c, with α eliminated.

        That leaves (c − Tᵀ r⁻¹ T) β = (b − c) − Tᵀ r⁻¹ (a − r), a weighted graph Laplacian.
        """
        c = self.sums.columns
        right = (b - c) - self.given_by_rows(a)
        outside = right.sum() * c / c.sum()  # of the Laplacian's range: no mass is created
        beta, residual = self.solve_columns(right - outside, goal)
        return beta, residual + outside

    def given_by_rows(self, a: FloatArray) -> FloatArray:
        """Tᵀ (a / r − 1): what the columns get when the rows are made right."""
        return self.apply_transposed((a - self.sums.rows) / self.sums.rows)

    def solve_columns(self, right: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """(β, residual) of (diag(c) − Tᵀ diag(1/r) T) β = right, to an L1 norm of ``goal``, nearly."""
        return self.by_gradients(right, goal, self.sums.columns, _STEPS)

    def by_gradients(
        self, right: FloatArray, goal: float, diagonal: FloatArray, limit: int
    ) -> tuple[FloatArray, FloatArray]:
        """The same by conjugate gradients with a diagonal preconditioner."""
        columns = self.sums.columns
        return conjugate_gradients(
            self.laplacian, right, lambda z: z / diagonal, goal, limit, columns
        )

    def solve_both(self, right: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """(α, residual) of (diag(r) + T) α = right, for a cloud with itself: well conditioned."""
        rows = self.sums.rows
        return conjugate_gradients(
            lambda z: rows * z + self.apply(z), right, lambda z: z / rows, goal, _STEPS, rows
        )

    def laplacian(self, beta: FloatArray) -> FloatArray:
        """(diag(c) − Tᵀ diag(1/r) T) β."""
        return self.sums.columns * beta - self.apply_both(beta)
