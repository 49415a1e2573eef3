"""The cost matrix read again and again: row panels kept in memory while they fit the budget."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from otadtk.distances.cost import TILE_ELEMENTS, SquaredCost, row_tiles

_PIECE_ELEMENTS = 1 << 18


class CostPanels:
    """C in row panels; those beyond the budget are computed anew in every pass."""

    def __init__(self, cost: SquaredCost, memory: int, tile_elements: int = TILE_ELEMENTS) -> None:
        self.cost = cost
        n, m = cost.shape
        self._slices = row_tiles(n, m, tile_elements)
        width = torch.empty((), dtype=cost.dtype).element_size()
        height = self._slices[0].stop
        self._room = max(0, memory // max(1, height * m * width))
        self._kept: list[Tensor] = []
        # two passes over a piece of a panel that fits the second-level cache cost little
        self._piece = max(1, min(height, _PIECE_ELEMENTS // m))
        self._scratch = torch.empty((self._piece, m), dtype=cost.dtype, device=cost.device)

    def tiles(self) -> Iterator[tuple[slice, Tensor]]:
        """(rows, C[rows]), to be read only, and before the next one comes."""
        buffer: Tensor | None = None
        for index, rows in enumerate(self._slices):
            if index < len(self._kept):
                yield rows, self._kept[index]
            elif index < self._room:
                self._kept.append(self.cost.tile(rows))
                yield rows, self._kept[index]
            else:
                buffer = self.cost.tile_buffer(self._slices) if buffer is None else buffer
                yield rows, self.cost.tile(rows, buffer=buffer)

    def reduced(self, f: Tensor, g: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """(rows, C − f ⊕ g), in pieces, in a buffer that the next one overwrites."""
        f, g = f.to(self.cost.dtype), g.to(self.cost.dtype)
        for rows, tile in self.tiles():
            for start in range(0, len(tile), self._piece):
                piece = tile[start : start + self._piece]
                buffer = self._scratch[: len(piece)]
                torch.sub(piece, g, out=buffer)
                part = slice(rows.start + start, rows.start + start + len(piece))
                yield part, buffer.sub_(f[part, None])
