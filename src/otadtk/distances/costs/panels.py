"""A cost matrix that is read several times: row panels, kept in memory while they fit.

This is the only place that keeps panels. Dense and streaming solvers are the same code: with
enough memory every panel is computed once, with little it is computed anew in every pass.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import panel_tiles

_BLOCK_COLUMNS = 1024
"""Columns of a panel that are computed at a time: with its points a block stays in cache."""
_PLAIN_COLUMNS = 8192
"""Columns up to which a panel is one block, if nothing but a product and its exponential is computed."""
_PIECE_ELEMENTS = 1 << 18
"""Entries of a piece: two passes over 1 MB, which fits the second-level cache, cost little."""

Change = Callable[[slice, slice, Tensor], None]
"""Changes the entries of some rows and columns in place."""

Tile = Callable[[slice, int, "int | None", "Tensor | None"], Tensor]
"""Makes the entries of some rows from the first to the last column, in a flat buffer if one is given."""


class Workspace:
    """Memory for the panels of one problem after the other.

    Fresh pages are slow: to write a matrix of 2,000 × 2,000 there first takes a third as long as the
    product that it comes from.
    """

    def __init__(self) -> None:
        self._memory: NDArray[np.uint8] | None = None
        self._lent: weakref.ref[NDArray[np.uint8]] | None = None

    def take(self, size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Room for so many numbers; what was taken before, if nobody has it any more."""
        if device.type != "cpu":
            return torch.empty(size, dtype=dtype, device=device)
        count = size * torch.empty((), dtype=dtype).element_size()
        if self._lent is not None and self._lent() is not None:
            return torch.from_numpy(np.empty(count, dtype=np.uint8)).view(dtype)
        if self._memory is None or len(self._memory) < count:
            self._memory = None  # before the next one takes its place
            self._memory = np.empty(count, dtype=np.uint8)
        part = self._memory[:count]
        self._lent = weakref.ref(part)  # tensors hold the array that they are made of
        return torch.from_numpy(part).view(dtype)

    def clear(self) -> None:
        """Gives the memory back."""
        self._memory = None


class Panels:
    """C, or what ``change`` makes of it, in row panels of which the first are kept.

    A panel holds the columns from 0, or with ``upper`` those from its first row: the upper triangle.
    """

    def __init__(
        self,
        cost: Cost,
        memory: int,
        tiles: Sequence[slice] | None = None,
        *,
        upper: bool = False,
        tile: Tile | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        """Of the costs, or of what ``tile`` makes instead; kept in a ``workspace`` if there is one."""
        self.cost, self._tile, self._plain = cost, tile or cost.tile, tile is not None
        self._workspace = workspace or Workspace()
        self.tiles = panel_tiles(*cost.shape) if tiles is None else tiles
        self._upper = upper
        self._kept: list[Tensor] = []
        self._room: Tensor | None = None
        self._fitting = self._count_fitting(memory)
        self._changes: list[Change] = []

    @property
    def streaming(self) -> bool:
        """Whether some panels are computed anew in every pass."""
        return self._fitting < len(self.tiles)

    @property
    def kept(self) -> int:
        """How many panels are in memory now."""
        return len(self._kept)

    def change(self, change: Change) -> None:
        """Change every panel from now on: those that are kept at once, the others when computed."""
        self._changes.append(change)
        for rows, panel in zip(self.tiles, self._kept, strict=False):
            change(rows, slice(self._first(rows), self.cost.shape[1]), panel)

    def release(self) -> None:
        """Free the kept panels; later passes compute them anew."""
        self._kept, self._fitting, self._room = [], 0, None

    def read(self, *, keep: bool = True) -> Iterator[tuple[slice, Tensor]]:
        """(rows, panel), to be read only, and before the next one comes.

        ``keep=False`` is for a last pass: it keeps no further panels.
        """
        if len(self._kept) == len(self.tiles):
            return zip(self.tiles, self._kept, strict=True)
        return self._read(keep)

    def _read(self, keep: bool) -> Iterator[tuple[slice, Tensor]]:
        fitting = self._fitting if keep else len(self._kept)
        for index, rows in enumerate(self.tiles[:fitting]):
            if index == len(self._kept):
                self._kept.append(self._compute(rows, self._place(index)))
            yield rows, self._kept[index]
        yield from self._computed(self.tiles[fitting:])

    def _place(self, index: int) -> Tensor:
        """Memory for a panel that is kept: all of them lie in one piece."""
        sizes = [
            (rows.stop - rows.start) * (self.cost.shape[1] - self._first(rows))
            for rows in self.tiles[: self._fitting]
        ]
        if self._room is None:
            self._room = self._workspace.take(sum(sizes), self.cost.dtype, self.cost.device)
        start = sum(sizes[:index])
        return self._room[start : start + sizes[index]]

    def _computed(self, tiles: Sequence[slice]) -> Iterator[tuple[slice, Tensor]]:
        """(rows, panel), computed anew on as many threads as torch would use for one of them.

        A thread has a panel to itself: threads that share each product would wait for each other.
        """
        threads = torch.get_num_threads() if self.cost.device.type == "cpu" else 1
        buffers = [self.cost.tile_buffer(self.tiles) for _ in range(min(threads + 1, len(tiles)))]
        if threads == 1 or len(tiles) < 2:
            for rows in tiles:
                yield rows, self._compute(rows, buffers[0])
            return
        compute = torch.inference_mode(torch.is_inference_mode_enabled())(self._compute)
        torch.set_num_threads(1)  # of this thread, which reads them
        try:
            with ThreadPoolExecutor(
                threads, initializer=torch.set_num_threads, initargs=(1,)
            ) as pool:
                coming: deque[Future[Tensor]] = deque()
                for index in range(len(tiles) + threads):
                    if index < len(tiles):  # one panel is being read, the others are computed
                        buffer = buffers[index % len(buffers)]
                        coming.append(pool.submit(compute, tiles[index], buffer))
                    if index >= threads:
                        yield tiles[index - threads], coming.popleft().result()
        finally:
            torch.set_num_threads(threads)

    def rows(self, chosen: Tensor) -> Tensor:
        """C in the chosen rows, a fresh tensor: from the panel, if there is only one."""
        assert not self._changes
        assert not self._upper
        if len(self.tiles) > 1:
            return self.cost.restricted(chosen).tile(slice(0, len(chosen)))
        ((_, panel),) = self.read()
        return panel.index_select(0, chosen)

    def reduced(self, f: Tensor, g: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """(rows, C − f ⊕ g), in pieces, in a buffer that the next one overwrites."""
        f, g = f.to(self.cost.dtype), g.to(self.cost.dtype)
        for rows, piece, buffer in self.pieces():
            torch.sub(piece, g, out=buffer)
            yield rows, buffer.sub_(f[rows, None])

    def pieces(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """(rows, a part of a panel, a buffer of its shape): small enough to stay in cache."""
        m = self.cost.shape[1]
        height = max(rows.stop - rows.start for rows in self.tiles)
        step = max(1, min(height, _PIECE_ELEMENTS // m))
        buffer = torch.empty((step, m), dtype=self.cost.dtype, device=self.cost.device)
        for rows, panel in self.read():
            for start in range(0, len(panel), step):
                piece = panel[start : start + step]
                part = slice(rows.start + start, rows.start + start + len(piece))
                yield part, piece, buffer[: len(piece)]

    def _compute(self, rows: slice, buffer: Tensor | None) -> Tensor:
        """A panel, in a buffer if one is given; block by block, as all of it is too large for the cache."""
        first, last = self._first(rows), self.cost.shape[1]
        plain = self._plain and last - first <= _PLAIN_COLUMNS
        if plain or last - first <= 2 * _BLOCK_COLUMNS:
            return self._block(rows, slice(first, last), buffer)
        height = rows.stop - rows.start
        buffer = self.cost.tile_buffer([rows]) if buffer is None else buffer
        panel = buffer[: height * (last - first)].view(height, last - first)
        scratch = panel.new_empty(height * _BLOCK_COLUMNS)
        for start in range(first, last, _BLOCK_COLUMNS):
            columns = slice(start, min(start + _BLOCK_COLUMNS, last))
            block = self._block(rows, columns, scratch)
            panel[:, columns.start - first : columns.stop - first] = block
        return panel

    def _block(self, rows: slice, columns: slice, buffer: Tensor | None) -> Tensor:
        block = self._tile(rows, columns.start, columns.stop, buffer)
        for change in self._changes:
            change(rows, columns, block)
        return block

    def _first(self, rows: slice) -> int:
        """The first column of a panel."""
        return int(rows.start) if self._upper else 0

    def _count_fitting(self, memory: int) -> int:
        for index, rows in enumerate(self.tiles):
            width = self.cost.shape[1] - self._first(rows)
            memory -= (rows.stop - rows.start) * width * self.cost.item_bytes
            if memory < 0:
                return index
        return len(self.tiles)
