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
    if vectors.ndim > 1:  # as rows: columns of a few numbers take many times as long
        across = vectors.T.contiguous()
        parts = (
            (across[:, start : start + TERMS] @ panel[:, start : start + TERMS].T).to(wide)
            for start in range(0, width, width if panel.dtype is wide else TERMS)
        )
        return sum(parts, torch.zeros((), dtype=wide, device=panel.device)).T
    if panel.dtype is wide or width <= TERMS:
        return (panel @ vectors).to(wide)
    total = (panel[:, :TERMS] @ vectors[:TERMS]).to(wide)
    for start in range(TERMS, width, TERMS):
        total += panel[:, start : start + TERMS] @ vectors[start : start + TERMS]
    return total


PIECE_ELEMENTS = 1 << 17
"""Entries of a panel of which the logarithm and a wide copy are made at a time: 1.5 MB in all."""
_PIECE_COLUMNS, _PIECE_ROWS, _WIDEST = 1024, 128, 8192
"""Columns and rows that are taken at a time of a panel that is wider than the widest."""


class PlanProducts(NamedTuple):
    """Products with K, and with K times powers of k = log K − p ⊕ q; those of some panels add up."""

    rows: Tensor
    """K v."""
    columns: Tensor
    """Kᵀ u."""
    rows_g: Tensor
    """K (v g₀)."""
    columns_f: Tensor
    """Kᵀ (u f₀)."""
    rows_beta: Tensor
    """K (v β); of a symmetric kernel with the upper triangle twice, and without the lower one."""
    rows_k: Tensor
    """(K k) v."""
    columns_k: Tensor
    """(K k)ᵀ u."""
    rows_k2: Tensor
    """(K k²) v, of a symmetric kernel as above: with u both are for sums over all pairs."""
    columns_left: Tensor
    """Kᵀ (u (a / r − 1)) for r = u K v: what T gives the columns of what the rows lack."""


def plan_products(
    panels: Iterable[tuple[slice, Tensor]],
    u: Tensor | None,
    v: Tensor,
    potentials: tuple[Tensor, Tensor] | None,
    shift: tuple[Tensor, Tensor] | None,
    beta: Tensor,
    a: Tensor,
    dtype: torch.dtype,
    *,
    symmetric: bool,
) -> PlanProducts:
    """All products in one pass; those that give the marginals in the precision of u and v.

    Without u it is a / (K v), which the pass itself finds: then the rows are right. Without
    ``potentials`` f₀ and g₀ are zero, and without a ``shift`` p and q.
    """
    exact = u is None
    u = torch.zeros_like(a) if u is None else u.clone()
    f0, g0 = (torch.zeros_like(u), torch.zeros_like(v)) if potentials is None else potentials
    p, q = (None, None) if shift is None else (side.to(dtype) for side in shift)
    narrow_u, narrow_uf = u.to(dtype), (u * f0).to(dtype)
    # several vectors as rows: as columns they would take many times as long
    of_k = torch.stack([v * beta, v * g0] if potentials is not None else [v * beta]).to(dtype)
    narrow_v = v.to(dtype)
    height, width = len(a), len(v)
    rows, rows_k, rows_k2 = (a.new_zeros(height) for _ in range(3))
    rows_of_k = a.new_zeros((len(of_k), height))
    columns, columns_k, columns_f, columns_left = (v.new_zeros(width) for _ in range(4))
    room = _Room(v)
    single = len(of_k) == 1
    for part, panel, first in _strips(panels, symmetric):
        blocks = _blocks(panel, first)
        if exact:
            sums = a.new_zeros(len(panel))
            for span, block in blocks:
                sums += room.wide(block) @ v[span]
            rows[part] = sums
            u[part] = a[part] / sums
            narrow_u[part], narrow_uf[part] = u[part], u[part] * f0[part]
        for span, block in blocks:
            # of the square on the diagonal all is there, right of it one half of two
            inside = max(0, part.stop - span.start) if symmetric else block.shape[1]
            below = slice(span.start + inside, span.stop)
            copy = room.wide(block) if not exact or len(blocks) > 1 else room.latest
            if not exact:
                rows[part] += copy @ v[span]
            if not symmetric:
                columns[span] += u[part] @ copy
            elif inside < block.shape[1]:
                rows[below] += u[part] @ copy[:, inside:]
            these_k, these_v = of_k[:, span], narrow_v[span]
            twice_k, twice_v = these_k, these_v
            if symmetric:
                twice_k, twice_v = _doubled(these_k, inside), _doubled(these_v, inside)
            if single:
                rows_of_k[0, part] += block @ twice_k[0]
            else:
                rows_of_k[:, part] += twice_k @ block.T
            k, product = room.narrow(block)
            torch.log(block, out=k)
            if p is not None and q is not None:
                k.sub_(q[span]).sub_(p[part, None])
            torch.mul(block, k, out=product)
            rows_k[part] += product @ these_v
            if not symmetric:
                columns_k[span] += narrow_u[part] @ product
            elif inside < block.shape[1]:
                rows_k[below] += narrow_v[part] @ product[:, inside:]
            if potentials is not None:
                columns_f[span] += narrow_uf[part] @ block
            rows_k2[part] += product.mul_(k) @ twice_v
        if not (exact or symmetric):  # the rows of a strip are known by now
            left = (a[part] / rows[part] - u[part]).to(dtype)
            for span, block in blocks:
                columns_left[span] += left @ block
    return PlanProducts(
        rows=rows,
        columns=rows if symmetric else columns,
        rows_g=rows_of_k[1] if potentials is not None else torch.zeros_like(rows),
        columns_f=columns_f,
        rows_beta=rows_of_k[0],
        rows_k=rows_k,
        columns_k=rows_k if symmetric else columns_k,
        rows_k2=rows_k2,
        columns_left=columns_left,
    )


def _doubled(vectors: Tensor, start: int) -> Tensor:
    """A copy with the entries from ``start`` on twice as large."""
    copy = vectors.clone()
    copy[..., start:] *= 2.0
    return copy


class _Room:
    """Memory for copies of one block at a time: fresh pages cost more than what is written to them."""

    latest: Tensor
    """The last wide copy, unless narrow ones have been asked for since."""

    def __init__(self, wide: Tensor) -> None:
        self._wide = wide.new_empty(0)

    def wide(self, block: Tensor) -> Tensor:
        """The block in the wide dtype."""
        if block.dtype is self._wide.dtype:
            self.latest = block
        else:
            self.latest = self._of(block, 1)[: block.numel()].view(block.shape).copy_(block)
        return self.latest

    def narrow(self, block: Tensor) -> tuple[Tensor, Tensor]:
        """Room for two tensors like the block."""
        size = block.numel()
        whole = self._of(block, 2 * block.element_size() // self._wide.element_size())
        whole = whole.view(block.dtype)
        return whole[:size].view(block.shape), whole[size : 2 * size].view(block.shape)

    def _of(self, block: Tensor, times: int) -> Tensor:
        """So many wide numbers for each entry of a block."""
        if self._wide.numel() < times * block.numel():
            self._wide = self._wide.new_empty(times * block.numel())
        return self._wide


def _strips(
    panels: Iterable[tuple[slice, Tensor]], symmetric: bool
) -> Iterator[tuple[slice, Tensor, int]]:
    """(rows, entries, first column) of lower panels, of which several functions fit the cache."""
    for part, panel in panels:
        wide = panel.shape[1] > _WIDEST
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
    step = _PIECE_COLUMNS if width > _WIDEST else width
    starts = range(0, width, step)
    return [
        (slice(first + start, first + min(start + step, width)), strip[:, start : start + step])
        for start in starts
    ]
