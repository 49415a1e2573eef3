"""The Gibbs kernel K_ij = exp((f_i + g_j − C_ij)/ε) as an operator made of row panels.

Panels are kept while they fit the memory budget (``costs/panels.py``). The kernel of a cloud with
itself keeps the upper triangle only and uses every panel twice.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import final

import torch
from torch import Tensor

from otadtk.distances.costs.panels import Panels, Workspace
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import (
    LEAST_ROWS,
    TILE_ELEMENTS,
    SquaredCost,
    row_tiles,
)
from otadtk.distances.transport.dense.products import PlanProducts, plan_products, wide_product

EXPONENT_FLOOR = -80.0
"""exp is ten times slower on arguments whose result is denormal; e^−80 is nothing either."""
_DOUBLE_FLOOR = -600.0
_SMALLEST_PANEL = 1 << 17
NEAR = 30.0
"""2 |⟨x, y⟩|/ε up to which exp of it is as good as exp(−C/ε): both scalings stay below e^60."""
_LARGEST = 2.0**100
"""Entries of a vector from which on a product in float32 might overflow."""

Potentials = tuple[Tensor, Tensor]
"""(f, g), wide, on the device of the cost."""


class GibbsKernel(ABC):
    """What the smooth regime asks of K, wherever its panels are.

    f and g are the potentials that K has absorbed.
    """

    f: Tensor
    g: Tensor
    streaming = True
    """Whether some panels are computed anew in every pass."""

    near: SquaredCost | None
    """The cost, if K is exp(2⟨x, y⟩/ε): f and g are squared norms, and nothing can underflow."""

    def __init__(self, cost: Cost, epsilon: float, potentials: Potentials | None) -> None:
        """Where all points are near each other, ``potentials`` are not needed, and not absorbed."""
        self.floor = EXPONENT_FLOOR if cost.dtype == torch.float32 else _DOUBLE_FLOOR
        self.cost, self.epsilon, self.symmetric = cost, epsilon, cost.symmetric
        self.wide = cost.wide
        n, m = cost.shape
        self.near = None
        if potentials is not None:
            self.f, self.g = potentials
        elif isinstance(cost, SquaredCost) and 2.0 * cost.largest_product() <= NEAR * epsilon:
            self.near, self.f, self.g = cost, cost.x_squared, cost.y_squared
        else:
            self.f = torch.zeros(n, dtype=self.wide, device=cost.device)
            self.g = torch.zeros(m, dtype=self.wide, device=cost.device)

    @abstractmethod
    def apply(self, v: Tensor) -> Tensor:
        """K v, each panel in working precision, accumulated wide; v may have several columns."""

    @abstractmethod
    def apply_transposed(self, u: Tensor) -> Tensor:
        """Kᵀ u; u may have several columns."""

    @abstractmethod
    def apply_both(self, v: Tensor, weights: Tensor) -> Tensor:
        """Kᵀ diag(weights) K v, in one pass over the panels unless the kernel is symmetric."""

    @abstractmethod
    def sweep(self, a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """(u, Kᵀ u) with u = a / (K v), in one pass over the panels."""

    @abstractmethod
    def products(self, u: Tensor | None, v: Tensor, beta: Tensor, a: Tensor) -> PlanProducts:
        """What the sums over T = diag(u) K diag(v) are made of, in one pass; u = a / (K v) if None."""

    @abstractmethod
    def column_squares(self, weights: Tensor) -> Tensor:
        """Σ_i K_ij² w_i, wide."""

    @abstractmethod
    def mass_at_floor(self, u: Tensor, v: Tensor) -> float:
        """Mass that T has where K was raised to the floor, counted in one pass."""

    @abstractmethod
    def release(self) -> None:
        """Frees what is kept; a later pass computes it anew."""

    @final
    def clipped_mass(self, u: Tensor, v: Tensor) -> float:
        """Mass that T has where K was raised to the floor: it should be nothing."""
        if self.near is not None:
            return 0.0
        most = float(u.sum() * v.sum()) * math.exp(self.floor)
        if self.symmetric:  # T_ij ≤ sqrt(a_i a_j) K_ij, whatever u and v
            return len(u) * math.exp(self.floor)
        return most if most < 1e-12 else self.mass_at_floor(u, v)


def kernel_tiles(cost: Cost, tile_elements: int = TILE_ELEMENTS) -> list[slice]:
    """The rows of each panel."""
    n, m = cost.shape
    if tile_elements == TILE_ELEMENTS:
        tile_elements = max(tile_elements, LEAST_ROWS * m)
    if cost.symmetric:  # lower panels waste less below the diagonal
        tile_elements = min(tile_elements, max(_SMALLEST_PANEL, n * m // 8))
    return row_tiles(n, m, tile_elements)


@final
class PanelKernel(GibbsKernel):
    """K, with the potentials (f, g) absorbed that make its largest entry 1 in every row and column.

    Without absorption K underflows wherever a sample is far from the other cloud. The hard
    c-transforms f_i = min_j C_ij and g_j = min_i (C_ij − f_i) are cheap and always feasible:
    f_i + g_j ≤ C_ij with equality somewhere in each row and column.

    Of ``tiles`` that are not all, everything is a part: rows of a product, or a term of a sum.
    """

    def __init__(
        self,
        cost: Cost,
        epsilon: float,
        memory: int,
        tile_elements: int = TILE_ELEMENTS,
        potentials: Potentials | None = None,
        tiles: Sequence[slice] | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        super().__init__(cost, epsilon, None if cost.symmetric else potentials)
        tiles = kernel_tiles(cost, tile_elements) if tiles is None else tiles
        products = None if self.near is None else partial(self.near.products, 2.0 / epsilon)
        self._panels = Panels(
            cost, memory, tiles, upper=self.symmetric, tile=products, workspace=workspace
        )
        self.streaming = self._panels.streaming
        if products is not None:
            self._panels.change(_exponential)
            return
        if not self.symmetric:  # with itself: min_j C_ij = C_ii = 0, nothing to absorb
            if potentials is None:
                self._absorb()
            self._panels.change(partial(_reduce, self.f, self.g))
        self._panels.change(partial(_exponentiate, -1.0 / epsilon, self.floor))

    @property
    def kept(self) -> int:
        """How many panels are in memory now."""
        return self._panels.kept

    def release(self) -> None:
        """Frees the kept panels; a later pass computes them anew."""
        self._panels.release()

    def panels(self) -> Iterator[tuple[slice, Tensor]]:
        """(rows, K[rows, first:]); first is rows.start for a symmetric kernel, else 0."""
        return self._panels.read()

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        if not self.symmetric:
            narrow = v.to(self.cost.dtype)
            return _joined([wide_product(panel, narrow, self.wide) for _, panel in self.panels()])
        return self._apply_symmetric(v.to(self.cost.dtype))

    def apply_transposed(self, u: Tensor) -> Tensor:
        """Kᵀ u."""
        if self.symmetric:
            return self.apply(u)
        narrow = u.to(self.cost.dtype)
        total: Tensor | None = None
        for rows, panel in self.panels():
            total = self._added(total, panel.T @ narrow[rows])
        assert total is not None  # there are panels
        return total

    def apply_both(self, v: Tensor, weights: Tensor) -> Tensor:
        """Kᵀ diag(weights) K v."""
        if self.symmetric:
            return self.apply(weights * self.apply(v))
        narrow, total = v.to(self.cost.dtype), torch.zeros_like(v)
        for rows, panel in self.panels():
            scaled = weights[rows] * wide_product(panel, narrow, self.wide)
            # weights of a far point reach 1e70, which only float64 holds
            fits = float(scaled.abs().max()) < _LARGEST
            dtype = self.cost.dtype if fits else self.wide
            total += scaled.to(dtype) @ panel.to(dtype)
        return total

    def sweep(self, a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """(u of the panels' rows, Kᵀ u) with u = a / (K v), in one pass over the panels."""
        narrow = v.to(self.cost.dtype)
        parts: list[Tensor] = []
        total = torch.zeros_like(v)
        for rows, panel in self.panels():
            u = a[rows] / wide_product(panel, narrow, self.wide)
            total += u.to(self.cost.dtype) @ panel
            parts.append(u)
        return _joined(parts), total

    def products(self, u: Tensor | None, v: Tensor, beta: Tensor, a: Tensor) -> PlanProducts:
        """What the sums over T are made of."""
        both, shift = (self.f, self.g), None
        if self.near is not None:
            shift = self.f / self.epsilon, self.g / self.epsilon
        absorbed = None if self.near is not None or self.symmetric else both
        return plan_products(
            self.panels(), u, v, absorbed, shift, beta, a, self.cost.dtype,
            symmetric=self.symmetric,
        )  # fmt: skip

    def column_squares(self, weights: Tensor) -> Tensor:
        """Σ_i K_ij² w_i."""
        squares = torch.zeros_like(self.g)
        for rows, panel in self.panels():
            squares += panel.to(self.wide).square().T @ weights[rows]
        return squares

    def mass_at_floor(self, u: Tensor, v: Tensor) -> float:
        """Mass that T has where K was raised to the floor."""
        mass, narrow, floor = 0.0, v.to(self.cost.dtype), math.exp(self.floor)
        for rows, panel in self.panels():
            clipped = (panel <= 1.001 * floor).to(self.cost.dtype)
            mass += float((u[rows] * (clipped @ narrow).to(self.wide)).sum()) * floor
        return mass

    def _apply_symmetric(self, v: Tensor) -> Tensor:
        out = torch.zeros(v.shape, dtype=self.wide, device=v.device)
        for rows, panel in self.panels():
            height = rows.stop - rows.start
            out[rows] += wide_product(panel, v[rows.start :], self.wide)
            if rows.stop < len(v):
                out[rows.stop :] += panel[:, height:].T @ v[rows]
        return out

    def _added(self, total: Tensor | None, product: Tensor) -> Tensor:
        """The sum of the panels' products so far, wide."""
        return product.to(self.wide) if total is None else total.add_(product)

    def _absorb(self) -> None:
        """Sets f and g by one pass over the costs."""
        best = torch.full((self.cost.shape[1],), torch.inf, device=self.cost.device)
        best = best.to(self.cost.dtype)
        for rows, piece, buffer in self._panels.pieces():
            f = piece.amin(dim=1)  # f_i = min_j C_ij
            self.f[rows] = f.to(self.wide)
            torch.sub(piece, f[:, None], out=buffer)
            best = torch.minimum(best, buffer.amin(dim=0))  # g_j = min_i (C_ij − f_i)
        self.g = best.to(self.wide)


# These are no methods: panels that know their kernel would outlive it until the next collection.
def _reduce(f: Tensor, g: Tensor, rows: slice, columns: slice, panel: Tensor) -> None:
    """C − f ⊕ g, in place."""
    panel -= f[rows, None].to(panel.dtype)
    panel -= g[columns].to(panel.dtype)


def _exponentiate(scale: float, floor: float, _: slice, __: slice, reduced: Tensor) -> None:
    """exp(−(C − f ⊕ g)/ε) for scale = −1/ε, in place."""
    reduced.mul_(scale).clamp_(floor, -floor).exp_()


def _exponential(_: slice, __: slice, exponents: Tensor) -> None:
    """exp, in place."""
    exponents.exp_()


def _joined(parts: list[Tensor]) -> Tensor:
    """The rows of all panels, one after the other."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)
