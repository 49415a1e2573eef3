"""What the sums over a plan T = diag(u) K diag(v) are made of: products with K, panel by panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

TERMS = 4096
"""Terms of a sum in float32: with more its rounding is biased, by 1e-10 a term."""


def wide_product(panel: Tensor, vectors: Tensor, wide: torch.dtype) -> Tensor:
    """The product of a panel with one or more vectors of its dtype, long sums accumulated wide."""
    width = panel.shape[1]
    if panel.dtype is wide or width <= TERMS:
        return (panel @ vectors).to(wide)
    total = (panel[:, :TERMS] @ vectors[:TERMS]).to(wide)
    for start in range(TERMS, width, TERMS):
        total += panel[:, start : start + TERMS] @ vectors[start : start + TERMS]
    return total


PIECE_ELEMENTS = 1 << 16
"""Entries of a panel of which the logarithm and a wide copy are made at a time: 1.3 MB in all."""


class PlanProducts(NamedTuple):
    """Products with K, and with K times powers of k = log K; those of some panels add up."""

    rows: Tensor
    """K v."""
    columns: Tensor
    """Kᵀ u."""
    rows_g: Tensor
    """K (v g₀)."""
    columns_f: Tensor
    """Kᵀ (u f₀)."""
    rows_beta: Tensor
    """K (v β)."""
    rows_k: Tensor
    """(K k) v."""
    columns_k: Tensor
    """(K k)ᵀ u."""
    rows_k2: Tensor
    """(K k²) v."""
    columns_left: Tensor
    """Kᵀ (u (a / r − 1)) for r = u K v: what T gives the columns of what the rows lack."""


def plan_products(
    panels: Iterable[tuple[slice, Tensor]],
    u: Tensor,
    v: Tensor,
    potentials: tuple[Tensor, Tensor],
    beta: Tensor,
    a: Tensor,
    dtype: torch.dtype,
    *,
    symmetric: bool,
) -> PlanProducts:
    """All products in one pass; those that give the marginals in the precision of u and v."""
    f0, g0 = potentials
    plain = _Products(u[:, None], v[:, None], symmetric)
    mixed = _Products((u * f0)[:, None], torch.stack([v * g0, v * beta], dim=1), symmetric, dtype)
    first = _Products(u[:, None], v[:, None], symmetric, dtype)
    second = _Products(u[:, None], v[:, None], symmetric, dtype, rows_only=True)
    columns_left = torch.zeros_like(v)
    for part, panel in _pieces(panels, symmetric):
        plain.add(part, panel.to(u.dtype))
        if not symmetric:  # the rows of a panel are known by now
            left = a[part] / plain.rows[part, 0] - u[part]
            columns_left += panel.T @ left.to(dtype)
        mixed.add(part, panel)
        log_k = panel.log()
        weighted = panel * log_k
        first.add(part, weighted)
        second.add(part, weighted.mul_(log_k))
    return PlanProducts(
        rows=plain.rows[:, 0],
        columns=plain.columns[:, 0],
        rows_g=mixed.rows[:, 0],
        columns_f=mixed.columns[:, 0],
        rows_beta=mixed.rows[:, 1],
        rows_k=first.rows[:, 0],
        columns_k=first.columns[:, 0],
        rows_k2=second.rows[:, 0],
        columns_left=columns_left,
    )


def _pieces(
    panels: Iterable[tuple[slice, Tensor]], symmetric: bool
) -> Iterator[tuple[slice, Tensor]]:
    """The panels in lower ones, of which several functions fit the cache."""
    for part, panel in panels:
        step = max(1, PIECE_ELEMENTS // panel.shape[1])
        for top in range(0, len(panel), step):
            rows = slice(part.start + top, min(part.start + top + step, part.stop))
            # of a symmetric kernel, what is left of the diagonal is known from above
            yield rows, panel[top : top + step, top if symmetric else 0 :]


class _Products:
    """Accumulates X V and Xᵀ U panel by panel, for X = K or K times a function of K."""

    def __init__(
        self,
        u: Tensor,
        v: Tensor,
        symmetric: bool,
        dtype: torch.dtype | None = None,
        rows_only: bool = False,
    ) -> None:
        self._symmetric, self._rows_only = symmetric, rows_only
        self._u, self._v = (u, v) if dtype is None else (u.to(dtype), v.to(dtype))
        self.rows = u.new_zeros((len(u), v.shape[1]))
        self.columns = self.rows if symmetric else u.new_zeros((len(v), u.shape[1]))

    def add(self, part: slice, panel: Tensor) -> None:
        """Takes in one panel; a strictly upper part stands for the lower one as well."""
        if self._symmetric:
            self.rows[part] += wide_product(panel, self._v[part.start :], self.rows.dtype)
            below = panel[:, part.stop - part.start :]
            self.rows[part.stop :] += below.T @ self._v[part]
            return
        self.rows[part] += wide_product(panel, self._v, self.rows.dtype)
        if not self._rows_only:
            self.columns += panel.T @ self._u[part]
