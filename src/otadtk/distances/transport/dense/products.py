"""What the sums over a plan T = diag(u) K diag(v) are made of: products with K, panel by panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
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
_PIECE_COLUMNS, _PIECE_ROWS = 1024, 128
"""Of a wide panel: columns that are taken at a time, and rows."""


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
    u: Tensor | None,
    v: Tensor,
    potentials: tuple[Tensor, Tensor],
    beta: Tensor,
    a: Tensor,
    dtype: torch.dtype,
    *,
    symmetric: bool,
) -> PlanProducts:
    """All products in one pass; those that give the marginals in the precision of u and v.

    Without u it is a / (K v), which the pass itself finds: then the rows are right.
    """
    f0, g0 = potentials
    exact = u is None
    u = torch.zeros_like(a) if u is None else u
    narrow_u, narrow_uf = u.to(dtype), (u * f0).to(dtype)
    narrow_v = v.to(dtype)
    products = partial(_Products, height=len(a), wide=a.dtype, symmetric=symmetric)
    plain = products(u, v)
    of_f_and_g = products(narrow_uf, (v * g0).to(dtype))
    of_beta = products(None, (v * beta).to(dtype))
    first, second = products(narrow_u, narrow_v), products(None, narrow_v)
    columns_left = torch.zeros_like(v)
    for part, panel, first_column in _strips(panels, symmetric):
        blocks = _blocks(panel, first_column)
        if exact:
            sums = sum(
                (block.to(u.dtype) @ v[columns] for columns, block in blocks), a.new_zeros(())
            )
            u[part] = a[part] / sums
            narrow_u[part], narrow_uf[part] = u[part], u[part] * f0[part]
        for columns, block in blocks:
            plain.add(part, columns, block.to(u.dtype))
            if not symmetric:  # there f₀ and g₀ are zero
                of_f_and_g.add(part, columns, block)
            of_beta.add(part, columns, block)
            log_k = block.log()
            weighted = block * log_k
            first.add(part, columns, weighted)
            second.add(part, columns, weighted.mul_(log_k))
        if not (exact or symmetric):  # the rows of a strip are known by now
            left = (a[part] / plain.rows[part] - u[part]).to(dtype)
            for columns, block in blocks:
                columns_left[columns] += block.T @ left
    return PlanProducts(
        rows=plain.rows,
        columns=plain.columns,
        rows_g=of_f_and_g.rows,
        columns_f=of_f_and_g.columns,
        rows_beta=of_beta.rows,
        rows_k=first.rows,
        columns_k=first.columns,
        rows_k2=second.rows,
        columns_left=columns_left,
    )


def _strips(
    panels: Iterable[tuple[slice, Tensor]], symmetric: bool
) -> Iterator[tuple[slice, Tensor, int]]:
    """(rows, entries, first column) of lower panels, of which several functions fit the cache."""
    for part, panel in panels:
        wide = panel.shape[1] > 2 * _PIECE_COLUMNS
        step = _PIECE_ROWS if wide else max(1, PIECE_ELEMENTS // panel.shape[1])
        for top in range(0, len(panel), step):
            rows = slice(part.start + top, min(part.start + top + step, part.stop))
            # of a symmetric kernel, what is left of the diagonal is known from above
            skipped = top if symmetric else 0
            first = rows.start if symmetric else 0
            yield rows, panel[top : top + step, skipped:], first


def _blocks(strip: Tensor, first: int) -> list[tuple[slice, Tensor]]:
    """(columns, entries) of a strip that begins at a column; a narrow one is one block."""
    width = strip.shape[1]
    step = _PIECE_COLUMNS if width > 2 * _PIECE_COLUMNS else width
    starts = range(0, width, step)
    return [
        (slice(first + start, first + min(start + step, width)), strip[:, start : start + step])
        for start in starts
    ]


class _Products:
    """Accumulates X v and Xᵀ u block by block, for X = K or K times a function of K.

    Vectors, not matrices of a few columns: products with these take many times as long. Without u
    there are no columns.
    """

    def __init__(
        self,
        u: Tensor | None,
        v: Tensor,
        height: int,
        wide: torch.dtype,
        *,
        symmetric: bool,
    ) -> None:
        self._u, self._v, self._symmetric = u, v, symmetric
        self.rows = v.new_zeros(height, dtype=wide)
        self.columns = self.rows if symmetric else v.new_zeros(len(v), dtype=wide)

    def add(self, part: slice, columns: slice, block: Tensor) -> None:
        """Takes in a block; a strictly upper part stands for the lower one as well."""
        self.rows[part] += block @ self._v[columns]
        if self._symmetric:
            inside = max(
                0, part.stop - columns.start
            )  # the square on the diagonal is there as a whole
            if inside < block.shape[1]:
                below = slice(columns.start + inside, columns.stop)
                self.rows[below] += block[:, inside:].T @ self._v[part]
        elif self._u is not None:
            self.columns[columns] += block.T @ self._u[part]
