"""The Gibbs kernel with its row panels spread over the workers of an engine.

A sweep over N×M costs that do not fit the memory computes all of them anew, N·M·d work, but takes
and gives vectors of N + M numbers only. Every worker has the points and a block of rows; of its
panels it keeps what its share of the memory holds. A block that another worker gets, because the
first has died, is computed there anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.distances.cost import SquaredCost
from otadtk.distances.gibbs import GibbsKernel, Kernel, kernel_tiles
from otadtk.distances.products import PlanProducts
from otadtk.distances.regime import available_memory
from otadtk.engine import Engine

Block = tuple[int, list[slice]]
"""The number of a block and the rows of its panels."""
Potentials = tuple[Tensor, Tensor] | None


@dataclass
class _Rows:
    """The points in a process, and the blocks of the kernel that it has had to do with."""

    arrays: tuple[NDArray[np.floating], ...]
    epsilon: float
    memory: int
    kernels: dict[int, GibbsKernel] = field(default_factory=dict)

    def absorbed(self, block: Block) -> tuple[Tensor, Tensor]:
        """(f of the block's rows, the g that these rows allow): see ``GibbsKernel``."""
        cost = SquaredCost.from_arrays(self.arrays)
        kernel = GibbsKernel(cost, self.epsilon, 0, tiles=block[1])
        return kernel.f[_rows_of(block)], kernel.g

    def kernel(self, block: Block, potentials: Potentials) -> GibbsKernel:
        """A block of the kernel, with the panels that fit in this process's share of its machine."""
        number, tiles = block
        if number not in self.kernels:
            share = available_memory() // (2 * (os.cpu_count() or 1))
            self.kernels[number] = GibbsKernel(
                SquaredCost.from_arrays(self.arrays),
                self.epsilon,
                min(self.memory, share),
                potentials=potentials,
                tiles=tiles,
            )
        return self.kernels[number]


@final
class SpreadKernel(Kernel):
    """K as ``GibbsKernel`` has it, its products added up from the blocks of workers.

    ``memory`` is what each worker may keep.
    """

    def __init__(
        self,
        engine: Engine,
        cost: SquaredCost,
        epsilon: float,
        memory: int,
        potentials: Potentials = None,
    ) -> None:
        super().__init__(cost, epsilon)
        self._engine = engine
        self._blocks = blocks_of(cost, engine.workers)
        self._shared = engine.share(_Rows(cost.arrays(), epsilon, memory))
        if potentials is None and not self.symmetric:
            parts = self._map(partial(_absorbing, self._shared))
            potentials = (
                torch.cat([f for f, _ in parts]),
                torch.stack([g for _, g in parts]).amin(0),
            )
        if potentials is not None:
            self.f, self.g = potentials
        self._potentials = potentials

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        parts: list[Tensor] = self._call("apply", v)
        return _total(parts) if self.symmetric else torch.cat(parts)

    def apply_transposed(self, u: Tensor) -> Tensor:
        """Kᵀ u."""
        return _total(self._call("apply_transposed", u))

    def sweep(self, a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """(u, Kᵀ u) with u = a / (K v)."""
        parts: list[tuple[Tensor, Tensor]] = self._call("sweep", a, v)
        pairs = zip(self._blocks, parts, strict=True)
        u = torch.cat([part[0][_rows_of(block)] for block, part in pairs])
        return u, _total([column for _, column in parts])

    def products(self, u: Tensor, v: Tensor, beta: Tensor) -> PlanProducts:
        """What the sums over T are made of."""
        parts: list[PlanProducts] = self._call("products", u, v, beta)
        return PlanProducts(*map(_total, zip(*parts, strict=True)))

    def column_squares(self, weights: Tensor) -> Tensor:
        """Σ_i K_ij² w_i."""
        return _total(self._call("column_squares", weights))

    def mass_at_floor(self, u: Tensor, v: Tensor) -> float:
        """Mass that T has where K was raised to the floor."""
        return float(sum(self._call("mass_at_floor", u, v)))

    def release(self) -> None:
        """Nothing: workers free their panels when they get the next problem."""

    def _call(self, method: str, *vectors: Tensor) -> list[Any]:
        """What a method of ``GibbsKernel`` gives for every block."""
        call = methodcaller(method, *vectors)
        return self._map(partial(_calling, self._shared, self._potentials, call))

    def _map(self, prepare: Callable[[], Callable[[Block], Any]]) -> list[Any]:
        return self._engine.map(prepare, self._blocks, title="kernel", unit="block", delay=np.inf)


def blocks_of(cost: SquaredCost, count: int) -> list[Block]:
    """The panels in so many blocks of about the same number of entries, if there are as many."""
    tiles = kernel_tiles(cost)
    columns = cost.shape[1]
    sizes = [
        (rows.stop - rows.start) * (columns - (rows.start if cost.symmetric else 0))
        for rows in tiles
    ]
    middles = np.cumsum(sizes) - 0.5 * np.asarray(sizes)
    places = (middles * count / sum(sizes)).astype(int)
    groups = [[t for t, p in zip(tiles, places, strict=True) if p == k] for k in range(count)]
    return list(enumerate(group for group in groups if group))


def _rows_of(block: Block) -> slice:
    return slice(block[1][0].start, block[1][-1].stop)


def _absorbing(shared: Callable[[], _Rows]) -> Callable[[Block], tuple[Tensor, Tensor]]:
    return shared().absorbed


def _calling(
    shared: Callable[[], _Rows], potentials: Potentials, call: Callable[[GibbsKernel], Any]
) -> Callable[[Block], Any]:
    rows = shared()
    return lambda block: call(rows.kernel(block, potentials))


def _total(parts: Any) -> Tensor:
    """The sum of the parts, in their order."""
    total: Tensor = sum(parts)
    return total
