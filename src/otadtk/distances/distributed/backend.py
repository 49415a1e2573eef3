"""A transport whose heavy parts go over an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, final

from torch import Tensor

from otadtk.distances.costs.panels import Workspace
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.distributed.gibbs import DistributedKernel
from otadtk.distances.transport.backend import HERE, Backend
from otadtk.distances.transport.dense.gibbs import GibbsKernel, Potentials
from otadtk.engine import Engine

T = TypeVar("T")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class EngineBackend(Backend):
    """Gives an engine the panels of a kernel that does not fit the memory here, and mini-batches."""

    engine: Engine

    def kernel(
        self,
        cost: Cost,
        epsilon: float,
        memory: int,
        potentials: Potentials | None,
        *,
        streaming: bool,
        workspace: Workspace | None = None,
    ) -> GibbsKernel:
        """A kernel on the workers if it streams, else one of panels here."""
        if streaming and isinstance(cost, SquaredCost) and cost.device.type == "cpu":
            return DistributedKernel(self.engine, cost, epsilon, memory, potentials)
        return HERE.kernel(
            cost, epsilon, memory, potentials, streaming=streaming, workspace=workspace
        )

    def batches(
        self, solve: Callable[[Any, Any, T], R], x: Tensor, y: Tensor, drawn: Sequence[T]
    ) -> Iterable[R]:
        """Several batches at a time; the points travel as arrays, which processes can share."""
        prepare = partial(partial, solve, x.cpu().numpy(), y.cpu().numpy())
        return self.engine.map(prepare, drawn, title="batches")
