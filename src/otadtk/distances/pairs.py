"""The squared distances of all pairs within one cloud, in tiles, kept while they fit."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from otadtk.distances.cost import SquaredCost, row_tiles

_TILE = 1 << 19
_KEPT_BYTES = 60_000_000


class PairDistances:
    """‖p_i − p_j‖² over i < j; with ``keep`` what fits stays in memory for a second pass."""

    def __init__(self, points: Tensor, *, keep: bool = False) -> None:
        self.cost = SquaredCost(points, points, torch.float32)
        self.count = len(points) * (len(points) - 1) // 2
        self._room = _KEPT_BYTES if keep else 0
        self._kept: list[Tensor] = []

    def tiles(self) -> Iterator[Tensor]:
        """Row tiles of the upper triangle with infinity where i ≥ j, to be read only."""
        for index, rows in enumerate(row_tiles(*self.cost.shape, _TILE)):
            if index < len(self._kept):
                yield self._kept[index]
                continue
            tile = self.cost.tile(rows, rows.start)
            height = rows.stop - rows.start
            lower = torch.ones((height, height), dtype=torch.bool, device=tile.device).tril_()
            tile[:, :height].masked_fill_(lower, torch.inf)
            size = tile.numel() * tile.element_size()
            if index == len(self._kept) and size <= self._room:
                self._kept.append(tile)
                self._room -= size
            yield tile
