"""The Gibbs kernel K_ij = exp((f_i + g_j − C_ij)/ε) as an operator made of row panels.

Panels are kept while they fit the memory budget and are computed anew in every pass beyond it:
dense and streaming mode are the same code. The kernel of a cloud with itself keeps the upper
triangle only and uses every panel twice.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import final

import torch
from torch import Tensor

from otadtk.distances.cost import TILE_ELEMENTS, SquaredCost, accumulator, row_tiles
from otadtk.distances.products import PlanProducts, plan_products

EXPONENT_FLOOR = -80.0
"""exp is ten times slower on arguments whose result is denormal; e^−80 is nothing either."""
_DOUBLE_FLOOR = -600.0
_SMALLEST_PANEL = 1 << 17


class Kernel(ABC):
    """What the smooth regime asks of K, wherever its panels are."""

    f: Tensor
    g: Tensor

    def __init__(self, cost: SquaredCost, epsilon: float) -> None:
        self.floor = EXPONENT_FLOOR if cost.dtype == torch.float32 else _DOUBLE_FLOOR
        self.cost, self.epsilon, self.symmetric = cost, epsilon, cost.symmetric
        self.wide = accumulator(cost.device)
        n, m = cost.shape
        self.f = torch.zeros(n, dtype=self.wide, device=cost.device)
        self.g = torch.zeros(m, dtype=self.wide, device=cost.device)

    @abstractmethod
    def apply(self, v: Tensor) -> Tensor:
        """K v, each panel in working precision, accumulated wide."""

    @abstractmethod
    def apply_transposed(self, u: Tensor) -> Tensor:
        """Kᵀ u."""

    @abstractmethod
    def sweep(self, a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """(u, Kᵀ u) with u = a / (K v), in one pass over the panels."""

    @abstractmethod
    def products(self, u: Tensor, v: Tensor, beta: Tensor) -> PlanProducts:
        """What the sums over T = diag(u) K diag(v) are made of, in one pass."""

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
        most = float(u.sum() * v.sum()) * math.exp(self.floor)
        if most < 1e-12 or self.symmetric:  # there T_ij ≤ sqrt(a_i a_j) K_ij, whatever u and v
            return most if not self.symmetric else 0.0
        return self.mass_at_floor(u, v)


def kernel_tiles(cost: SquaredCost, tile_elements: int = TILE_ELEMENTS) -> list[slice]:
    """The rows of each panel."""
    n, m = cost.shape
    if cost.symmetric:  # lower panels waste less below the diagonal
        tile_elements = min(tile_elements, max(_SMALLEST_PANEL, n * m // 8))
    return row_tiles(n, m, tile_elements)


@final
class GibbsKernel(Kernel):
    """K, with the potentials (f, g) absorbed that make its largest entry 1 in every row and column.

    Without absorption K underflows wherever a sample is far from the other cloud. The hard
    c-transforms f_i = min_j C_ij and g_j = min_i (C_ij − f_i) are cheap and always feasible:
    f_i + g_j ≤ C_ij with equality somewhere in each row and column.

    Of ``tiles`` that are not all, everything is a part: rows of a product, or a term of a sum.
    """

    def __init__(
        self,
        cost: SquaredCost,
        epsilon: float,
        memory: int,
        tile_elements: int = TILE_ELEMENTS,
        potentials: tuple[Tensor, Tensor] | None = None,
        tiles: list[slice] | None = None,
    ) -> None:
        super().__init__(cost, epsilon)
        self.tiles = kernel_tiles(cost, tile_elements) if tiles is None else tiles
        m = cost.shape[1]
        width = torch.empty((), dtype=cost.dtype).element_size()
        self._kept: list[Tensor] = []
        for rows in self.tiles:
            memory -= (rows.stop - rows.start) * (m - self._first(rows)) * width
            if memory < 0:
                break
            self._kept.append(cost.tile(rows, self._first(rows)))
        if potentials is not None:
            self.f, self.g = potentials
            for rows, panel in zip(self.tiles, self._kept, strict=False):
                self._reduce(rows, panel)
        elif not self.symmetric:  # with itself: min_j C_ij = C_ii = 0, nothing to absorb
            self._absorb()
        for panel in self._kept:
            self._exponentiate(panel)

    @property
    def streaming(self) -> bool:
        """Whether some panels are computed anew in every pass."""
        return len(self._kept) < len(self.tiles)

    def release(self) -> None:
        """Frees the kept panels; a later pass computes them anew."""
        self._kept = []

    def panels(self) -> Iterator[tuple[slice, Tensor]]:
        """(rows, K[rows, first:]); first is rows.start for a symmetric kernel, else 0."""
        buffer = self.cost.tile_buffer(self.tiles) if self.streaming else None
        for index, rows in enumerate(self.tiles):
            if index < len(self._kept):
                yield rows, self._kept[index]
            else:
                yield rows, self._fresh(rows, buffer)

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        if not self.symmetric:
            narrow = v.to(self.cost.dtype)
            return torch.cat([panel @ narrow for _, panel in self.panels()]).to(self.wide)
        return self._apply_symmetric(v.to(self.cost.dtype))

    def apply_transposed(self, u: Tensor) -> Tensor:
        """Kᵀ u."""
        if self.symmetric:
            return self.apply(u)
        narrow = u.to(self.cost.dtype)
        out = torch.zeros(self.cost.shape[1], dtype=self.wide, device=self.cost.device)
        for rows, panel in self.panels():
            out += panel.T @ narrow[rows]
        return out

    def sweep(self, a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """(u, Kᵀ u) with u = a / (K v), in one pass over the panels."""
        narrow = v.to(self.cost.dtype)
        u = torch.empty_like(a)
        out = torch.zeros(self.cost.shape[1], dtype=self.wide, device=self.cost.device)
        for rows, panel in self.panels():
            u[rows] = a[rows] / (panel @ narrow).to(self.wide)
            out += panel.T @ u[rows].to(self.cost.dtype)
        return u, out

    def products(self, u: Tensor, v: Tensor, beta: Tensor) -> PlanProducts:
        """What the sums over T are made of."""
        return plan_products(
            *(self.panels(), u, v, (self.f, self.g), beta, self.cost.dtype),
            symmetric=self.symmetric,
        )

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
        out = torch.zeros(len(v), dtype=self.wide, device=v.device)
        for rows, panel in self.panels():
            height = rows.stop - rows.start
            out[rows] += panel @ v[rows.start :]
            out[rows.stop :] += panel[:, height:].T @ v[rows]
        return out

    def _first(self, rows: slice) -> int:
        return int(rows.start) if self.symmetric else 0

    def _absorb(self) -> None:
        """Sets f and g by one pass; kept panels hold C − f − g afterwards."""
        best = torch.full((self.cost.shape[1],), torch.inf, device=self.cost.device)
        best = best.to(self.cost.dtype)
        for index, rows in enumerate(self.tiles):
            tile = self._kept[index] if index < len(self._kept) else self.cost.tile(rows)
            f = tile.amin(dim=1)  # f_i = min_j C_ij
            self.f[rows] = f.to(self.wide)
            tile -= f[:, None]
            best = torch.minimum(best, tile.amin(dim=0))  # g_j = min_i (C_ij − f_i)
        self.g = best.to(self.wide)
        for panel in self._kept:
            panel -= best

    def _fresh(self, rows: slice, buffer: Tensor | None) -> Tensor:
        """A panel computed anew."""
        tile = self.cost.tile(rows, self._first(rows), buffer=buffer)
        if not self.symmetric:
            self._reduce(rows, tile)
        return self._exponentiate(tile)

    def _reduce(self, rows: slice, tile: Tensor) -> None:
        """C − f − g, in place."""
        tile -= self.f[rows, None].to(tile.dtype)
        tile -= self.g.to(tile.dtype)

    def _exponentiate(self, reduced: Tensor) -> Tensor:
        """exp(−(C − f − g)/ε), in place."""
        return reduced.mul_(-1.0 / self.epsilon).clamp_(self.floor, -self.floor).exp_()
