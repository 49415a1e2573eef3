"""How far computed costs may be from the true ones, and what that does to a transport.

The bounds are of the form |C̃_ij − C_ij| ≤ r_i + s_j. So ⟨T, |C̃ − C|⟩ ≤ Σ a r + Σ b s for every plan T
with the marginals a and b, and no optimum moves by more: a point far away, whose costs are rounded
most, counts by its weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from otadtk.distances.arrays import FloatArray

UNIT = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
"""The largest relative error of one operation."""


def sum_rounding(terms: int, dtype: torch.dtype) -> float:
    """Relative error of a sum of products of the given length, far beyond the likely one.

    Errors add up like a random walk (Higham and Mary, 2019), so the root of the length counts.
    """
    return UNIT[dtype] * (4.0 + 2.0 * math.sqrt(terms))


@dataclass(frozen=True)
class Rounding:
    """|C̃_ij − C_ij| is at most rows_i + columns_j."""

    rows: FloatArray
    columns: FloatArray

    def reduced(self, f: FloatArray, g: FloatArray, unit: float) -> Rounding:
        """Bounds for C̃ − f ⊕ g and multiples of it, computed and stored with this unit rounding.

        Two differences and a product err by (8 C + 4 |f| + 3 |g|) u at most, and C̃ by 8 u or more of
        the squared norms, of which C is at most twice the sum.
        """
        rows, columns = 3.0 * self.rows, 3.0 * self.columns
        return Rounding(rows + 4.0 * unit * np.abs(f), columns + 4.0 * unit * np.abs(g))

    def mean(self, a: FloatArray, b: FloatArray) -> float:
        """Σ T |C̃ − C| at most, for every T with the marginals a and b."""
        return float(a @ self.rows + b @ self.columns)

    def root_mean_square(self, a: FloatArray, b: FloatArray) -> float:
        """The root of Σ T (C̃ − C)² at most, for every such T."""
        return float(np.sqrt(2.0 * (a @ np.square(self.rows) + b @ np.square(self.columns))))

    def largest(self) -> float:
        """|C̃ − C| of any pair at most."""
        return float(self.rows.max() + self.columns.max())
