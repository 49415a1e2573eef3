"""The squared distances of all pairs within one cloud, in tiles, kept while they fit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from otadtk.distances.cost import SquaredCost, row_tiles

TILE = 1 << 19
_KEPT_BYTES = 32_000_000


class PairDistances:
    """‖p_i − p_j‖² over i < j; what fits can be kept, so that a second pass is cheap.

    The source is the cloud, or its costs with itself.
    """

    def __init__(self, source: Tensor | SquaredCost) -> None:
        self._source = source
        size = source.shape[0]
        self.count = size * (size - 1) // 2
        self._room = _KEPT_BYTES
        self._kept: list[Tensor] = []

    @cached_property
    def cost(self) -> SquaredCost:
        """The costs of the cloud with itself, tile by tile."""
        if isinstance(self._source, SquaredCost):
            return self._source
        return SquaredCost(self._source, self._source, torch.float32)

    def tiles(self, *, keep: bool = False) -> Iterator[Tensor]:
        """Row tiles of the upper triangle with infinity where i ≥ j, to be read only."""
        for index, rows in enumerate(row_tiles(*self.cost.shape, TILE)):
            if index < len(self._kept):
                yield self._kept[index]
                continue
            tile = self.cost.tile(rows, rows.start)
            hide_lower(tile)
            size = tile.numel() * tile.element_size()
            if keep and index == len(self._kept) and size <= self._room:
                self._kept.append(tile)
                self._room -= size
            yield tile


def hide_lower(tile: Tensor) -> None:
    """Put infinity where i ≥ j, in a tile that starts on the diagonal."""
    height = len(tile)
    lower = torch.ones((height, height), dtype=torch.bool, device=tile.device).tril_()
    tile[:, :height].masked_fill_(lower, torch.inf)
