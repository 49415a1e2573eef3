"""Where the two heavy parts of a transport are computed: a Gibbs kernel, and mini-batches.

``HERE`` computes them in this process. ``distances/distributed/backend.py`` has one that gives them
to an engine; the solver knows none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, final

from torch import Tensor

from otadtk.distances.costs.panels import Workspace
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.transport.dense.gibbs import GibbsKernel, PanelKernel, Potentials

T = TypeVar("T")
R = TypeVar("R")


class Backend(ABC):
    """Computes what may be computed elsewhere."""

    @abstractmethod
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
        """The Gibbs kernel of a cost; ``streaming`` says that its panels do not fit ``memory``.

        What is kept in this process may be kept in the ``workspace``.
        """

    @abstractmethod
    def batches(
        self, solve: Callable[[Any, Any, T], R], x: Tensor, y: Tensor, drawn: Sequence[T]
    ) -> Iterable[R]:
        """``solve(x, y, batch)`` for every drawn batch, in order; x and y may come as arrays."""


@final
class _Here(Backend):
    """In this process, on the device of the points."""

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
        """A kernel of panels in this process."""
        return PanelKernel(cost, epsilon, memory, potentials=potentials, workspace=workspace)

    def batches(
        self, solve: Callable[[Any, Any, T], R], x: Tensor, y: Tensor, drawn: Sequence[T]
    ) -> Iterable[R]:
        """One batch after the other."""
        return (solve(x, y, batch) for batch in drawn)


HERE: Backend = _Here()
