"""The squared distances of all pairs within one cloud."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import SquaredCost, row_tiles

TILE = 1 << 19
"""Distances of one tile: 2 MB of float32."""
_KEPT_BYTES = 32_000_000
"""What is kept between the two passes over a cloud: all pairs of 4,000 points."""


class PairDistances:
    """‖p_i − p_j‖² over i < j; what fits can be kept, so that a second pass is cheap.

    The source is the cloud, or its costs with itself.
    """

    def __init__(self, source: Tensor | Cost) -> None:
        self._source = source
        size = source.shape[0]
        self.count = size * (size - 1) // 2

    @cached_property
    def cost(self) -> Cost:
        """The costs of the cloud with itself, tile by tile."""
        if isinstance(self._source, Cost):
            return self._source
        return SquaredCost(self._source, self._source, torch.float32)

    @cached_property
    def _panels(self) -> Panels:
        cost = self.cost
        panels = Panels(cost, _KEPT_BYTES, row_tiles(*cost.shape, TILE), upper=True)
        panels.change(_hide)
        return panels

    def tiles(self, *, keep: bool = False) -> Iterator[Tensor]:
        """Row tiles of the upper triangle with infinity where i ≥ j, to be read only."""
        return (panel for _, panel in self._panels.read(keep=keep))


def _hide(rows: slice, columns: slice, block: Tensor) -> None:
    """Put infinity where i ≥ j, in a block of any place."""
    width = min(rows.stop - columns.start, block.shape[1])
    if width > 0:
        lower = torch.ones((len(block), width), dtype=torch.bool, device=block.device)
        block[:, :width].masked_fill_(lower.tril_(rows.start - columns.start), torch.inf)


def hide_lower(tile: Tensor) -> None:
    """Put infinity where i ≥ j, in a tile that starts on the diagonal."""
    height = len(tile)
    lower = torch.ones((height, height), dtype=torch.bool, device=tile.device).tril_()
    tile[:, :height].masked_fill_(lower, torch.inf)
