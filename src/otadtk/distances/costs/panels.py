"""A cost matrix that is read several times: row panels, kept in memory while they fit.

This is the only place that keeps panels. Dense and streaming solvers are the same code: with
enough memory every panel is computed once, with little it is computed anew in every pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import panel_tiles

_BLOCK_COLUMNS = 1024
"""Columns of a panel that are computed at a time: with its points a block stays in cache."""
_PIECE_ELEMENTS = 1 << 18
"""Entries of a piece: two passes over 1 MB, which fits the second-level cache, cost little."""

Change = Callable[[slice, slice, Tensor], None]
"""Changes the entries of some rows and columns in place."""


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
    ) -> None:
        self.cost = cost
        self.tiles = panel_tiles(*cost.shape) if tiles is None else tiles
        self._upper = upper
        self._kept: list[Tensor] = []
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
        self._kept, self._fitting = [], 0

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
                self._kept.append(self._compute(rows, None))
            yield rows, self._kept[index]
        yield from self._computed(self.tiles[fitting:])

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
        if last - first <= 2 * _BLOCK_COLUMNS:
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
        block = self.cost.tile(rows, columns.start, columns.stop, buffer=buffer)
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
