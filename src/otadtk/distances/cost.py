"""Squared Euclidean costs C_ij = ‖x_i − y_j‖² in row tiles, centred, with stated rounding."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

TILE_ELEMENTS = 1 << 21
"""Entries of one tile: 8 MB of float32, small enough to stay in cache between two passes."""

_DOUBLE_LIMIT = 1 << 27
"""N·M·d up to which costs are computed in float64: there it costs milliseconds."""

_COPY_ELEMENTS = 1 << 18
"""Entries of a wide copy of the points."""


def accumulator(device: torch.device) -> torch.dtype:
    """The dtype for potentials and sums: float64, or float32 on MPS, which has nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64


def working_dtype(n: int, m: int, d: int, device: torch.device) -> torch.dtype:
    """float32 for tiles and matrix products of any size worth the name, else float64."""
    return torch.float64 if n * m * d <= _DOUBLE_LIMIT and device.type != "mps" else torch.float32


def row_tiles(rows: int, columns: int, elements: int = TILE_ELEMENTS) -> list[slice]:
    """Slices that cut a (rows, columns) matrix into row tiles of at most so many entries."""
    height = max(1, min(rows, elements // max(columns, 1)))
    return [slice(start, min(start + height, rows)) for start in range(0, rows, height)]


def _column_sums(points: Tensor, wide: torch.dtype) -> Tensor:
    """Σ_i x_i; tile by tile, because a wide sum makes a wide copy first."""
    sums = torch.zeros(points.shape[1], dtype=wide, device=points.device)
    for rows in row_tiles(len(points), points.shape[1], _COPY_ELEMENTS):
        sums += points[rows].sum(dim=0, dtype=wide)
    return sums


def _squared_norms(points: Tensor, wide: torch.dtype) -> Tensor:
    """‖x_i‖², squared and summed wide."""
    tiles = row_tiles(len(points), points.shape[1], _COPY_ELEMENTS)
    return torch.cat([points[rows].to(wide).square().sum(dim=1) for rows in tiles])


class SquaredCost:
    """The cost matrix between two clouds; nothing of size N×M is held here.

    Both clouds are moved by their common mean first: an adapter can add an offset of norm 165 to
    every embedding, and ‖x‖² + ‖y‖² − 2⟨x, y⟩ in float32 then errs by a third of ε = 0.1.
    """

    def __init__(self, x: Tensor, y: Tensor, dtype: torch.dtype | None = None) -> None:
        wide = accumulator(x.device)
        self.dtype = dtype or working_dtype(len(x), len(y), x.shape[1], x.device)
        centre = (_column_sums(x, wide) + _column_sums(y, wide)) / (len(x) + len(y))
        # the same rounded centre for both clouds: their differences do not notice its rounding
        self.x = (x - centre.to(x.dtype)).to(self.dtype)
        self.y = self.x if y is x else (y - centre.to(x.dtype).to(y.dtype)).to(self.dtype)
        self.x_squared = _squared_norms(self.x, wide)
        self.y_squared = self.x_squared if y is x else _squared_norms(self.y, wide)
        self._x_squared = self.x_squared.to(self.dtype)
        self._y_squared = self.y_squared.to(self.dtype)

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
        cost = object.__new__(SquaredCost)
        cost.dtype, cost.x, cost.y = x.dtype, x, y
        cost.x_squared, cost.y_squared = x_squared, y_squared
        cost._x_squared, cost._y_squared = x_squared.to(x.dtype), y_squared.to(x.dtype)
        return cost

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

    def transposed(self) -> SquaredCost:
        """The same costs with the roles of the clouds exchanged, sharing their memory."""
        other = object.__new__(SquaredCost)
        other.dtype, other.x, other.y = self.dtype, self.y, self.x
        other.x_squared, other.y_squared = self.y_squared, self.x_squared
        other._x_squared, other._y_squared = self._y_squared, self._x_squared
        return other

    def widened(self) -> SquaredCost:
        """The same costs in the widest floats that the device has."""
        wide = accumulator(self.device)
        if self.dtype == wide:
            return self
        x = self.x.to(wide)
        return SquaredCost(x, x if self.symmetric else self.y.to(wide), wide)

    def restricted(self, rows: Tensor, columns: Tensor) -> SquaredCost:
        """The cost between the chosen points of both clouds."""
        other = object.__new__(SquaredCost)
        other.dtype, other.x, other.y = self.dtype, self.x[rows], self.y[columns]
        other.x_squared, other.y_squared = self.x_squared[rows], self.y_squared[columns]
        other._x_squared, other._y_squared = self._x_squared[rows], self._y_squared[columns]
        return other

    def tile(
        self, rows: slice, first: int = 0, last: int | None = None, buffer: Tensor | None = None
    ) -> Tensor:
        """C[rows, first:last]: a fresh tensor, or in the front of a flat ``buffer``.

        Tiles made and freed in turn with small results that stay leave holes in the heap, which
        grows by nearly a tile each time; a pass that keeps its results wants a buffer.
        """
        x, y, y_squared = self.x[rows], self.y[first:last], self._y_squared[first:last]
        out = None if buffer is None else buffer[: len(x) * len(y)].view(len(x), len(y))
        # ‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩
        tile = torch.addmm(y_squared, x, y.T, alpha=-2.0, out=out)
        return tile.add_(self._x_squared[rows, None]).clamp_(min=0.0)

    def tile_buffer(self, tiles: list[slice]) -> Tensor:
        """Room for one of these row tiles."""
        height = max(rows.stop - rows.start for rows in tiles)
        return torch.empty(height * self.shape[1], dtype=self.dtype, device=self.device)

    def entries(self, rows: Tensor, columns: Tensor) -> Tensor:
        """C at the given index pairs, from differences and summed wide: no cancellation."""
        wide = accumulator(self.device)
        out = torch.empty(len(rows), dtype=wide, device=self.device)
        step = max(1, (TILE_ELEMENTS // 2) // self.x.shape[1])
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            difference = self.x[rows[part]] - self.y[columns[part]]
            out[part] = difference.square_().sum(dim=1, dtype=wide)
        return out

    def rounding(self) -> float:
        """The largest error of a tile's entries against float64, seen on a 24×24 sample."""
        n, m = self.shape
        rows = torch.linspace(0, n - 1, min(n, 24), device=self.device).long()
        columns = torch.linspace(0, m - 1, min(m, 24), device=self.device).long()
        sample = self.restricted(rows, columns)
        x, y = sample.x.cpu().double(), sample.y.cpu().double()
        exact = (x[:, None, :] - y[None, :, :]).square().sum(dim=2)
        seen = sample.tile(slice(0, len(rows))).cpu().double()
        return float((seen - exact).abs().max())

    def mean(self, a: Tensor, b: Tensor) -> float:
        """Σ a_i b_j C_ij, in O(N d)."""
        wide = accumulator(self.device)
        a, b = a.to(self.device, wide), b.to(self.device, wide)
        mean_x, mean_y = a @ self.x.to(wide), b @ self.y.to(wide)
        return float(a @ self.x_squared + b @ self.y_squared - 2.0 * (mean_x @ mean_y))

    def median(self, side: int = 1000) -> float:
        """The median cost of a seeded sample of at most side² pairs."""
        n, m = self.shape
        generator = torch.Generator().manual_seed(0)
        rows = torch.randperm(n, generator=generator)[:side].to(self.device)
        columns = torch.randperm(m, generator=generator)[:side].to(self.device)
        return float(self.restricted(rows, columns).tile(slice(0, len(rows))).median())
