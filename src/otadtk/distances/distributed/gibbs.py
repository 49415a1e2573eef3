"""The Gibbs kernel with its row panels distributed over the workers of an engine.

A sweep over N×M costs that do not fit the memory computes all of them anew, N·M·d work, but takes
and gives vectors of N + M numbers only. Every worker has the points and a block of rows, and keeps
the panels that fit its memory. When a worker dies, another one computes its block anew.
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

from otadtk.device import free_memory
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.dense.gibbs import (
    GibbsKernel,
    PanelKernel,
    Potentials,
    kernel_tiles,
)
from otadtk.distances.transport.dense.products import PlanProducts
from otadtk.engine import Engine

Block = tuple[int, list[slice]]
"""The number of a block and the rows of its panels."""


@dataclass
class _Rows:
    """The points in a worker process, and the blocks of the kernel that it has computed."""

    arrays: tuple[NDArray[np.floating], ...]
    epsilon: float
    memory: int
    kernels: dict[int, PanelKernel] = field(default_factory=dict)

    def absorbed(self, block: Block) -> tuple[Tensor, Tensor]:
        """(f of the block's rows, the g that these rows allow): see ``PanelKernel``."""
        cost = SquaredCost.from_arrays(self.arrays)
        kernel = PanelKernel(cost, self.epsilon, 0, tiles=block[1])
        return kernel.f[_rows_of(block)], kernel.g

    def kernel(self, block: Block, potentials: Potentials | None) -> PanelKernel:
        """A block of the kernel; half of the free memory is divided among the cores of the machine."""
        number, tiles = block
        if number not in self.kernels:
            free = free_memory() or 2 * self.memory * (os.cpu_count() or 1)
            self.kernels[number] = PanelKernel(
                SquaredCost.from_arrays(self.arrays),
                self.epsilon,
                min(self.memory, free // (2 * (os.cpu_count() or 1))),
                potentials=potentials,
                tiles=tiles,
            )
        return self.kernels[number]


@final
class DistributedKernel(GibbsKernel):
    """K, its products added up from the blocks of the workers.

    ``memory`` is what each worker may keep.
    """

    def __init__(
        self,
        engine: Engine,
        cost: SquaredCost,
        epsilon: float,
        memory: int,
        potentials: Potentials | None = None,
    ) -> None:
        super().__init__(cost, epsilon, None if cost.symmetric else potentials)
        self._engine = engine
        self._blocks = blocks_of(cost, engine.workers)
        self._shared = engine.share(_Rows(cost.arrays(), epsilon, memory))
        if potentials is None and not self.symmetric and self.near is None:
            parts = self._map(partial(_absorbing, self._shared))
            potentials = (
                torch.cat([f for f, _ in parts]),
                torch.stack([g for _, g in parts]).amin(0),
            )
            self.f, self.g = potentials
        self._potentials = potentials

    def apply(self, v: Tensor) -> Tensor:
        """K v."""
        parts: list[Tensor] = self._call("apply", v)
        return _total(parts) if self.symmetric else torch.cat(parts)

    def apply_transposed(self, u: Tensor) -> Tensor:
        """Kᵀ u."""
        return _total(self._call("apply_transposed", u))

    def apply_both(self, v: Tensor, weights: Tensor) -> Tensor:
        """Kᵀ diag(weights) K v."""
        if self.symmetric:
            return self.apply(weights * self.apply(v))
        return _total(self._call("apply_both", v, weights))

    def sweep(self, a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """(u, Kᵀ u) with u = a / (K v)."""
        parts: list[tuple[Tensor, Tensor]] = self._call("sweep", a, v)
        return torch.cat([u for u, _ in parts]), _total([column for _, column in parts])

    def products(self, u: Tensor | None, v: Tensor, beta: Tensor, a: Tensor) -> PlanProducts:
        """What the sums over T are made of."""
        parts: list[PlanProducts] = self._call("products", u, v, beta, a)
        return PlanProducts(*map(_total, zip(*parts, strict=True)))

    def column_squares(self, weights: Tensor) -> Tensor:
        """Σ_i K_ij² w_i."""
        return _total(self._call("column_squares", weights))

    def mass_at_floor(self, u: Tensor, v: Tensor) -> float:
        """Mass that T has where K was raised to the floor."""
        return float(sum(self._call("mass_at_floor", u, v)))

    def release(self) -> None:
        """Nothing: workers free their panels when they get the next problem."""

    def _call(self, method: str, *vectors: Tensor | None) -> list[Any]:
        """What a method of ``PanelKernel`` gives for every block."""
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
    numbers = (middles * count / sum(sizes)).astype(int)
    groups = [[t for t, k in zip(tiles, numbers, strict=True) if k == own] for own in range(count)]
    return list(enumerate(group for group in groups if group))


def _rows_of(block: Block) -> slice:
    return slice(block[1][0].start, block[1][-1].stop)


def _absorbing(shared: Callable[[], _Rows]) -> Callable[[Block], tuple[Tensor, Tensor]]:
    return shared().absorbed


def _calling(
    shared: Callable[[], _Rows], potentials: Potentials | None, call: Callable[[PanelKernel], Any]
) -> Callable[[Block], Any]:
    rows = shared()
    return lambda block: call(rows.kernel(block, potentials))


def _total(parts: Any) -> Tensor:
    """The sum of the parts, in their order."""
    total: Tensor = sum(parts)
    return total
