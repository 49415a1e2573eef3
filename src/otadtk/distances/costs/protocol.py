"""What a solver may ask of a cost matrix C.

Two kinds of cost answer: ``SquaredCost`` computes C from points, ``PooledCost`` reads it from the
matrix of a pool. A solver takes either and knows no points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.costs.rounding import Rounding


class Cost(ABC):
    """Costs C_ij ≥ 0 between N rows and M columns, which need not be in memory."""

    dtype: torch.dtype
    """Of the tiles."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(N, M)."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where tiles are computed."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points: then C_ij = C_ji and C_ii = 0."""

    @abstractmethod
    def tile(
        self, rows: slice, first: int = 0, last: int | None = None, buffer: Tensor | None = None
    ) -> Tensor:
        """C[rows, first:last], which the caller may overwrite; in a flat ``buffer`` if one is given."""

    @abstractmethod
    def entries(self, rows: Tensor, columns: Tensor) -> Tensor:
        """C at the given index pairs, wide, and as exact as this cost can tell."""

    @abstractmethod
    def transposed(self) -> Cost:
        """The same costs with rows and columns exchanged."""

    @abstractmethod
    def restricted(self, rows: Tensor, columns: Tensor | None = None) -> Cost:
        """The costs between the chosen rows and columns, or all columns, which are not copied."""

    @abstractmethod
    def widened(self) -> Cost:
        """The same costs in the widest floats that make them more exact."""

    @abstractmethod
    def largest(self) -> float:
        """A number that no cost exceeds."""

    @abstractmethod
    def rounding(self) -> Rounding:
        """Bounds of the error of a tile's entries."""

    @abstractmethod
    def entry_rounding(self) -> Rounding:
        """The same for what ``entries`` gives."""

    @abstractmethod
    def mean(self, a: Tensor, b: Tensor) -> float:
        """Σ a_i b_j C_ij."""

    @property
    def wide(self) -> torch.dtype:
        """The dtype of potentials and sums."""
        return accumulator(self.device)

    @property
    def item_bytes(self) -> int:
        """Bytes of one entry of a tile."""
        return torch.empty((), dtype=self.dtype).element_size()

    def tile_buffer(self, tiles: Sequence[slice]) -> Tensor:
        """Room for any one of these row tiles.

        Tiles made and freed in turn with small results that stay leave holes in the heap, which
        grows by nearly a tile each time; a pass that keeps its results needs a buffer.
        """
        height = max(rows.stop - rows.start for rows in tiles)
        return room(height * self.shape[1], self.dtype, self.device)

    def median(self, side: int = 1000) -> float:
        """The median cost of a seeded sample of at most side² pairs."""
        n, m = self.shape
        generator = torch.Generator().manual_seed(0)
        rows = torch.randperm(n, generator=generator)[:side].to(self.device)
        columns = torch.randperm(m, generator=generator)[:side].to(self.device)
        return float(self.restricted(rows, columns).tile(slice(0, len(rows))).median())


def room(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Memory for so many numbers, which are not set yet.

    On a CPU numpy asks for it, as that gets large pages where it can: with small ones a kernel of 2,000
    points takes a tenth longer.
    """
    if device.type != "cpu" or dtype not in (torch.float32, torch.float64):
        return torch.empty(size, dtype=dtype, device=device)
    return torch.from_numpy(np.empty(size, dtype="f4" if dtype is torch.float32 else "f8"))


def accumulator(device: torch.device) -> torch.dtype:
    """The dtype for potentials and sums: float64, or float32 on MPS, which has nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64
