"""Tasks that do ahead, on CPUs which the actors leave free, what actors would do before their work.

Results stay in Ray's object store until an actor takes them: the driver learns that they are there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic

from otadtk.engine.base import T
from otadtk.engine.batches import Batch, Queue

_RECOUNT = 5.0
"""Seconds after which free CPUs are counted again: nodes come and go."""


class Ahead(Generic[T]):
    """Batches at which tasks work, by what tells that they are done.

    ``do`` maps the items of a batch; ``free`` counts the CPUs that no actor has or waits for.
    """

    def __init__(
        self, ray: Any, do: Callable[[Sequence[T]], list[T]], free: Callable[[], int]
    ) -> None:
        self._ray, self._free = ray, free
        self._do = ray.put(do)
        self._task = ray.remote(_do_ahead).options(
            num_cpus=1, num_returns=2, max_retries=0, scheduling_strategy="SPREAD"
        )
        self._cpus, self._counted = 0, -_RECOUNT
        self.at_work: dict[Any, Batch[T]] = {}

    def give_out(self, queue: Queue[T], reserve: int) -> None:
        """Keep all free CPUs busy, until there are ``reserve`` batches more than they work at."""
        if time.monotonic() - self._counted >= _RECOUNT:
            self._cpus, self._counted = self._free(), time.monotonic()
        most = self._cpus + reserve if self._cpus > 0 else 0
        while queue.has_fresh and len(self.at_work) + queue.done_ahead < most:
            batch = queue.take_fresh()
            batch.done, told = self._task.remote(self._do, batch.items)
            self.at_work[told] = batch

    def recall(self) -> list[Batch[T]]:
        """All batches at which tasks work, or would if there were room, as they were before."""
        batches = list(self.at_work.values())
        for told, batch in self.at_work.items():
            self._ray.cancel(told, force=True)
            batch.done = None
        self.at_work.clear()
        return batches


def _do_ahead(
    do: Callable[[Sequence[T]], list[T]], batch: list[tuple[int, T]]
) -> tuple[list[tuple[int, T]], str]:
    """(the batch when it is done, the id of the node that did it)."""
    import ray

    done = do([item for _, item in batch])
    numbered = [(index, item) for (index, _), item in zip(batch, done, strict=True)]
    return numbered, str(ray.get_runtime_context().get_node_id())
