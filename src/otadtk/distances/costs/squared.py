"""Squared Euclidean costs C_ij = ‖x_i − y_j‖² in row tiles, centred, with stated rounding."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.distances.costs.protocol import Cost, accumulator, room
from otadtk.distances.costs.rounding import UNIT, Rounding

TILE_ELEMENTS = 1 << 21
"""Entries of one tile: 8 MB of float32, small enough to stay in cache between two passes."""

LEAST_ROWS = 256
"""Rows of a wide panel: a matrix product with 42 rows runs at half the speed."""

_DOUBLE_LIMIT = 1 << 27
"""N·M·d up to which costs are computed in float64: there it costs milliseconds."""

_COPY_ELEMENTS = 1 << 16
"""Entries of a wide copy of the points: 0.5 MB stay in cache, and are no fresh pages every time."""
_SUM_ELEMENTS = 1 << 18
"""Entries of points that are summed in their own precision: 512 points of 512 dimensions."""
_SAFETY = 2.0
"""Factor on the rounding of float32 costs, which is seen on a sample only."""
_TINY = 1e-300
"""Nothing is divided by less."""


def working_dtype(n: int, m: int, d: int, device: torch.device) -> torch.dtype:
    """float32 for tiles and matrix products of any size worth the name, else float64."""
    return torch.float64 if n * m * d <= _DOUBLE_LIMIT and device.type != "mps" else torch.float32


def row_tiles(rows: int, columns: int, elements: int = TILE_ELEMENTS) -> list[slice]:
    """Slices that cut a (rows, columns) matrix into row tiles of at most so many entries."""
    height = max(1, min(rows, elements // max(columns, 1)))
    return [slice(start, min(start + height, rows)) for start in range(0, rows, height)]


def panel_tiles(rows: int, columns: int) -> list[slice]:
    """Slices that cut a matrix into row panels for matrix products: of a wide one larger than tiles."""
    return row_tiles(rows, columns, max(TILE_ELEMENTS, LEAST_ROWS * columns))


def _sum(points: Tensor, weights: Tensor | None = None) -> Tensor:
    """Σ w_i x_i, wide, for weights of 1 if none are given.

    Of narrow points a few rows at a time in their own precision: that is right to 1e-8 of the largest,
    and a wide copy of all points would take longer.
    """
    total = torch.zeros(points.shape[1], dtype=accumulator(points.device), device=points.device)
    narrow = None if weights is None else weights.to(points.dtype)
    for rows in row_tiles(len(points), points.shape[1], _SUM_ELEMENTS):
        total += points[rows].sum(dim=0) if narrow is None else narrow[rows] @ points[rows]
    return total


def _centred(
    points: Tensor, centre: Tensor, dtype: torch.dtype, wide: torch.dtype
) -> tuple[Tensor, Tensor]:
    """(x_i − centre, their squared norms, summed wide), subtracted in the wider of their precisions.

    Tile by tile: wide copies of all points would take longer than the arithmetic.
    """
    wider = torch.promote_types(points.dtype, centre.dtype)
    centred = room(points.numel(), dtype, points.device).view(points.shape)
    squared = torch.empty(len(points), dtype=wide, device=points.device)
    tiles, centre = row_tiles(len(points), points.shape[1], _COPY_ELEMENTS), centre.to(wider)
    buffer = torch.empty_like(points[tiles[0]], dtype=wide)
    for rows in tiles:
        tile = torch.sub(points[rows].to(wider), centre, out=centred[rows])
        copy = buffer[: len(tile)].copy_(tile)
        torch.sum(copy.square_(), dim=1, out=squared[rows])
    return centred, squared


def _sample(squared_norms: Tensor) -> Tensor:
    """Indices of 24 points spread over a cloud, and of the four that are farthest out."""
    spread = torch.linspace(0, len(squared_norms) - 1, 24, device=squared_norms.device).long()
    farthest = squared_norms.topk(min(4, len(squared_norms))).indices
    return torch.cat([spread, farthest])


@final
class SquaredCost(Cost):
    """The cost matrix between two clouds; nothing of size N×M is held here.

    Both clouds are moved by their common mean first: an adapter can add an offset of norm 165 to
    every embedding, and ‖x‖² + ‖y‖² − 2⟨x, y⟩ in float32 then errs by a third of ε = 0.1.
    """

    def __init__(self, x: Tensor, y: Tensor, dtype: torch.dtype | None = None) -> None:
        wide = accumulator(x.device)
        dtype = dtype or working_dtype(len(x), len(y), x.shape[1], x.device)
        centre = _sum(x) / len(x) if y is x else (_sum(x) + _sum(y)) / (len(x) + len(y))
        # the same rounded centre for both clouds: their differences do not notice its rounding
        centre = centre.to(dtype if dtype is wide else x.dtype)
        centred_x, x_squared = _centred(x, centre, dtype, wide)
        centred_y, y_squared = centred_x, x_squared
        if y is not x:
            centred_y, y_squared = _centred(y, centre, dtype, wide)
        self._set(centred_x, centred_y, x_squared, y_squared)
        self._given = x, y

    def _set(self, x: Tensor, y: Tensor, x_squared: Tensor, y_squared: Tensor) -> None:
        self._given = x, y
        """The points as they were given: what the costs are measured against."""
        self._rate: float | None = None
        self.dtype, self.x, self.y = x.dtype, x, y
        self.x_squared, self.y_squared = x_squared, y_squared
        self._x_squared, self._y_squared = x_squared.to(x.dtype), y_squared.to(x.dtype)

    @staticmethod
    def _of(x: Tensor, y: Tensor, x_squared: Tensor, y_squared: Tensor) -> SquaredCost:
        """The cost between points that are centred, with their squared norms."""
        cost = object.__new__(SquaredCost)
        cost._set(x, y, x_squared, y_squared)
        return cost

    def arrays(self) -> tuple[NDArray[np.floating], ...]:
        """All that makes the cost, as arrays that processes can share; see ``from_arrays``."""
        parts = (self.x, self.x_squared, *(() if self.symmetric else (self.y, self.y_squared)))
        return tuple(part.cpu().numpy() for part in parts)

    @staticmethod
    def from_arrays(arrays: Sequence[NDArray[np.floating]]) -> SquaredCost:
        """The cost of ``arrays()``, without a copy."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            x, x_squared, *others = (torch.from_numpy(array) for array in arrays)
        y, y_squared = others or (x, x_squared)
        return SquaredCost._of(x, y, x_squared, y_squared)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return len(self.x), len(self.y)

    @property
    def device(self) -> torch.device:
        """Where the clouds lie."""
        return self.x.device

    @property
    def symmetric(self) -> bool:
        """Whether this is the cost of a cloud with itself."""
        return self.x is self.y

    def tile(
        self, rows: slice, first: int = 0, last: int | None = None, buffer: Tensor | None = None
    ) -> Tensor:
        """C[rows, first:last]: a fresh tensor, or in the front of a flat ``buffer``."""
        x, y, y_squared = self.x[rows], self.y[first:last], self._y_squared[first:last]
        out = None if buffer is None else buffer[: len(x) * len(y)].view(len(x), len(y))
        # ‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩
        tile = torch.addmm(y_squared, x, y.T, alpha=-2.0, out=out)
        return tile.add_(self._x_squared[rows, None]).clamp_(min=0.0)

    def products(
        self,
        scale: float,
        rows: slice,
        first: int = 0,
        last: int | None = None,
        buffer: Tensor | None = None,
    ) -> Tensor:
        """Inner products ⟨x_i, y_j⟩ times ``scale``, in a tile: C = ‖x‖² + ‖y‖² − 2⟨x, y⟩."""
        x, y = self.x[rows], self.y[first:last]
        buffer = room(len(x) * len(y), x.dtype, x.device) if buffer is None else buffer
        out = buffer[: len(x) * len(y)].view(len(x), len(y))
        return torch.addmm(out, x, y.T, beta=0.0, alpha=scale, out=out)

    def largest_product(self) -> float:
        """A bound of |⟨x_i, y_j⟩| by the norms of the points."""
        return math.sqrt(float(self.x_squared.max()) * float(self.y_squared.max()))

    def entries(self, rows: Tensor, columns: Tensor) -> Tensor:
        """C at the given index pairs, from differences of the given points: no cancellation."""
        out = torch.empty(len(rows), dtype=self.wide, device=self.device)
        step = max(1, _COPY_ELEMENTS // self.x.shape[1])
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            difference = self._given[0][rows[part]].to(self.wide)
            difference -= self._given[1][columns[part]]
            torch.sum(difference.square_(), dim=1, out=out[part])
        return out

    def transposed(self) -> SquaredCost:
        """The same costs with the roles of the clouds exchanged, sharing their memory."""
        flipped = SquaredCost._of(self.y, self.x, self.y_squared, self.x_squared)
        flipped._given = self._given[::-1]
        return flipped

    def restricted(self, rows: Tensor, columns: Tensor | None = None) -> SquaredCost:
        """The cost between the chosen points of the first cloud and those of the second, or all."""
        y, y_squared = self.y, self.y_squared
        if columns is not None:
            y, y_squared = y[columns], y_squared[columns]
        return SquaredCost._of(self.x[rows], y, self.x_squared[rows], y_squared)

    def widened(self) -> SquaredCost:
        """The same costs in the widest floats that the device has."""
        if self.dtype == self.wide:
            return self
        return SquaredCost(*self._given, self.wide)

    def largest(self) -> float:
        """A bound by the norms of the points: ‖x − y‖² ≤ (‖x‖ + ‖y‖)²."""
        norms = (float(squared.max()) for squared in (self.x_squared, self.y_squared))
        return sum(math.sqrt(norm) for norm in norms) ** 2

    def rounding(self) -> Rounding:
        """The error of a tile's entries, which grows with the squared norms of the points.

        In float64 it is bounded a priori: (2 d + 10) u (‖x‖² + ‖y‖²) covers the centring, the squared
        norms, the product and two sums. In float32 that would be far too much, as errors cancel: there
        it is measured on a sample, which has the largest norms, and doubled.
        """
        if self._rate is None:
            if self.dtype == torch.float64:
                self._rate = (2 * self.x.shape[1] + 10) * UNIT[self.dtype]
            else:
                self._rate = _SAFETY * max(self._seen_rounding(), 4.0 * UNIT[self.dtype])
        sides = (squared.cpu().double().numpy() for squared in (self.x_squared, self.y_squared))
        return Rounding(*(self._rate * side for side in sides))

    def entry_rounding(self) -> Rounding:
        """(d + 4) u C ≤ 2 (d + 4) u (‖x‖² + ‖y‖²): a sum of squared differences, in wide floats."""
        rate = 2 * (self.x.shape[1] + 4) * UNIT[self.wide]
        sides = (squared.cpu().double().numpy() for squared in (self.x_squared, self.y_squared))
        return Rounding(*(rate * side for side in sides))

    def _seen_rounding(self) -> float:
        """The largest |C̃ − C| / (‖x‖² + ‖y‖²) of a sample."""
        rows, columns = _sample(self.x_squared), _sample(self.y_squared)
        sample = self.restricted(rows, columns)
        given = (self._given[0][rows].cpu(), self._given[1][columns].cpu())
        # in float64 its error is ten thousand times smaller than what is looked for
        exact = SquaredCost(*given, torch.float64).tile(slice(0, len(rows)))
        seen = sample.tile(slice(0, len(rows))).cpu().double()
        norms = (sample.x_squared[:, None] + sample.y_squared).cpu().double()
        return float(((seen - exact).abs() / norms.clamp(min=_TINY)).max())

    def mean(self, a: Tensor, b: Tensor) -> float:
        """Σ a_i b_j C_ij, in O(N d)."""
        a, b = a.to(self.device, self.wide), b.to(self.device, self.wide)
        mean_x = _sum(self.x, a)
        mean_y = mean_x if self.symmetric and a is b else _sum(self.y, b)
        return float(a @ self.x_squared + b @ self.y_squared - 2.0 * (mean_x @ mean_y))
