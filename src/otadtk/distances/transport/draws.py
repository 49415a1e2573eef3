"""Many divergences between subsets of one pool, solved together: for floors, intervals and comparisons.

Smooth draws are sweeps over the kernel of the pool. Sharp ones start from such sweeps at a larger ε and
end in Newton steps on sparse supports. All is rougher than a score: who needs the order of two nearly
equal draws solves these exactly (``margin``).
"""

from __future__ import annotations

import torch
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.transport.dense.pooled import CrossKernel, OwnKernel
from otadtk.distances.transport.result import DivergenceKind
from otadtk.distances.transport.sparse.together import Sharp, solve_together

_SMOOTH_LIMIT = 100.0
"""Median C/ε of a pool beyond which sweeps take longer than sparse Newton steps, and mass is clipped."""
_SMOOTH_AIM, _SHARP_AIM = 1e-5, 3e-4
"""Marginal error (L1)."""
_SWEEPS = 200
_COARSE, _COARSE_AIM, _COARSE_SWEEPS = 80.0, 5e-3, 100
"""Median C over the ε at which sharp draws start, and the marginal error and sweeps there."""
_MARGIN = 20.0
"""What a draw may be off, in units of ε times its marginal error; 3 at most were found."""
_SMOOTH_ENTRIES, _SMOOTH_DRAWS, _SHARP_ENTRIES, _SHARP_DRAWS = 50_000, 100, 1 << 22, 100
"""Draws that are solved together: scalings and costs that stay in cache or nearly so."""


class PooledDraws:
    """The divergences of draws from a pool, given its matrix of costs."""

    def __init__(self, matrix: Tensor, epsilon: float, divergence: DivergenceKind) -> None:
        self._matrix, self._epsilon, self._divergence = matrix, epsilon, divergence
        step = max(1, len(matrix) // 256)
        median = float(matrix[::step, ::step].median())
        self._sharp = median > _SMOOTH_LIMIT * epsilon
        # sums of float32 are biased by 1e-10 a term and some
        self._aim = max(_SHARP_AIM if self._sharp else _SMOOTH_AIM, 1e-9 * len(matrix))
        with torch.inference_mode():
            self._own = OwnKernel(matrix, epsilon)
            coarse = median / _COARSE if self._sharp else epsilon
            self._cross = CrossKernel(matrix, coarse, None if self._sharp else self._own)
        self.usable = self._cross.usable
        """Whether draws can be solved in this way: not if a point is too far from all others."""
        self.margin = _MARGIN * epsilon * self._aim
        """By how much a divergence may be off."""

    @property
    def at_once(self) -> int:
        """How many draws are best solved together."""
        size = len(self._matrix)
        if self._sharp:
            return max(1, min(_SHARP_DRAWS, 4 * _SHARP_ENTRIES // size**2))
        return max(1, min(_SMOOTH_DRAWS, _SMOOTH_ENTRIES // size))

    def solve(self, a: Tensor, b: Tensor) -> list[float | None]:
        """Of draws with the weights in the rows of ``a`` and ``b``; None where one did not converge."""
        name = "transport" if self._divergence == "sharp" else "entropic"
        with torch.inference_mode():
            own = self._own.solve(torch.cat([a, b]), min(self._aim, _SMOOTH_AIM), _SWEEPS)
            if self._sharp:
                between, error = self._by_newton(a, b, name)
            else:
                terms = self._cross.terms(a, b, self._aim, _SWEEPS)
                between, error = getattr(terms, name), terms.error
            values = between - 0.5 * getattr(own, name).view(2, -1).sum(dim=0)
            solved = (error <= 2.0 * self._aim) & (own.error.view(2, -1).amax(dim=0) <= self._aim)
        return [v if ok else None for v, ok in zip(values.tolist(), solved.tolist(), strict=True)]

    def _by_newton(self, a: Tensor, b: Tensor, name: str) -> tuple[Tensor, Tensor]:
        """(terms, errors) of sharp draws."""
        f, g, coarse_error = self._cross.solve(a, b, _COARSE_AIM, _COARSE_SWEEPS)
        values = torch.zeros(len(a), dtype=torch.float64)
        error = torch.full_like(values, torch.inf)
        found = coarse_error.isfinite().nonzero()[:, 0]
        if len(found) == 0:
            return values, error
        problems = [
            self._problem(a[k], b[k], self._cross.epsilon * f[k], self._cross.epsilon * g[k])
            for k in found
        ]
        terms = solve_together(problems, self._cross.epsilon, self._epsilon, self._aim)
        values[found] = torch.from_numpy(getattr(terms, name))
        error[found] = torch.from_numpy(terms.error)
        return values, error

    def _problem(self, a: Tensor, b: Tensor, f: Tensor, g: Tensor) -> Sharp:
        rows, columns = a.nonzero()[:, 0], b.nonzero()[:, 0]
        cost = self._matrix.index_select(0, rows).index_select(1, columns)
        sides: list[FloatArray] = [
            side[places].numpy()
            for side, places in ((a, rows), (b, columns), (f, rows), (g, columns))
        ]
        return Sharp(cost, *sides)
