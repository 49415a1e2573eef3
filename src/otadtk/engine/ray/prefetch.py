"""Tasks that prefetch batches for the actors, on CPUs that no actor has.

The results stay in Ray's object store until an actor takes them; the driver only learns that they
are there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic

from otadtk.engine.base import T
from otadtk.engine.ray.batches import Batch, Queue

_RECOUNT_SECONDS = 5.0
"""How often free CPUs are counted: nodes come and go."""


class Prefetcher(Generic[T]):
    """The batches at which tasks work, by the reference that says that a task is done.

    ``function`` maps the items of a batch; ``free_cpus`` counts the CPUs that no actor has.
    """

    def __init__(
        self, ray: Any, function: Callable[[Sequence[T]], list[T]], free_cpus: Callable[[], int]
    ) -> None:
        self._ray, self._free_cpus = ray, free_cpus
        self._function = ray.put(function)
        self._task = ray.remote(_prefetch).options(
            num_cpus=1, num_returns=2, max_retries=0, scheduling_strategy="SPREAD"
        )
        self._cpus, self._counted = 0, -_RECOUNT_SECONDS
        self.running: dict[Any, Batch[T]] = {}

    def start_tasks(self, queue: Queue[T], reserve: int) -> None:
        """Keep all free CPUs busy, until ``reserve`` prefetched batches wait as well."""
        if time.monotonic() - self._counted >= _RECOUNT_SECONDS:
            self._cpus, self._counted = self._free_cpus(), time.monotonic()
        most = self._cpus + reserve if self._cpus > 0 else 0
        while queue.has_new and len(self.running) + queue.prefetched < most:
            batch = queue.take_new()
            batch.prefetched, done = self._task.remote(self._function, batch.items)
            self.running[done] = batch

    def cancel(self) -> list[Batch[T]]:
        """Stop all tasks; their batches, as they were before."""
        batches = list(self.running.values())
        for done, batch in self.running.items():
            self._ray.cancel(done, force=True)
            batch.prefetched = None
        self.running.clear()
        return batches


def _prefetch(
    function: Callable[[Sequence[T]], list[T]], batch: list[tuple[int, T]]
) -> tuple[list[tuple[int, T]], str]:
    """(the prefetched batch, the id of the node that did it)."""
    import ray

    found = function([item for _, item in batch])
    numbered = [(index, item) for (index, _), item in zip(batch, found, strict=True)]
    return numbered, str(ray.get_runtime_context().get_node_id())
