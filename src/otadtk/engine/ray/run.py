"""One run over a Ray cluster: batches go to actors, and go again when an actor dies.

A batch whose actor dies, alone or with its node, is repeated item by item: the item that kills is
found by the second death and given up after the third. Batches that the dead actor had but had not
begun are repeated as they are. The driver has a result once it has arrived, so a death loses only
what the actor had not delivered.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any, Generic

from otadtk.engine.base import Lost, RunSummary, T
from otadtk.engine.ray.batches import Batch, Queue
from otadtk.engine.ray.cluster import last_line
from otadtk.engine.ray.pool import BATCHES_PER_ACTOR, ActorPool, Member
from otadtk.engine.ray.prefetch import Prefetcher
from otadtk.errors import OtadtkError

logger = logging.getLogger(__name__)

_DEATHS = 3
"""Workers that may die at one item."""
_LOST_IN_A_ROW = 10
"""Items given up, with none finished in between, after which the cluster is to blame."""
_PATIENCE = 30.0
"""Seconds without any actor after which the user is told, or that idle actors wait for tasks."""


class Run(Generic[T]):
    """Takes the batches of a queue through the actors of a pool.

    ``prepared`` is the reference of the work; ``actors`` is how many actors there should be.
    """

    def __init__(
        self,
        pool: ActorPool,
        queue: Queue[T],
        prepared: Any,
        actors: int,
        prefetcher: Prefetcher[T] | None,
    ) -> None:
        self._pool, self._queue, self._prepared = pool, queue, prepared
        self._actors, self._prefetcher = actors, prefetcher
        self._ray = pool.ray
        self.summary = RunSummary()
        self._warned = False

    def results(self) -> Iterator[tuple[int, Any]]:
        """All results as they arrive; an item that keeps killing its worker is ``Lost``."""
        began, lost_in_a_row = time.monotonic(), 0
        while self._unfinished():
            self._give_out()
            for index, result in self._wait():
                lost_in_a_row = lost_in_a_row + 1 if isinstance(result, Lost) else 0
                if lost_in_a_row >= _LOST_IN_A_ROW:
                    raise OtadtkError(
                        f"The Ray workers die at every item ({lost_in_a_row} in a row): look at "
                        f"Ray's logs for the reason."
                    )
                yield index, result
            self.summary.seconds = time.monotonic() - began

    def cancel(self) -> None:
        """Stop all tasks of this run."""
        if self._prefetcher is not None and self._ray.is_initialized():
            self._prefetcher.cancel()

    @property
    def _tasks(self) -> dict[Any, Batch[T]]:
        return {} if self._prefetcher is None else self._prefetcher.running

    def _unfinished(self) -> bool:
        return bool(self._queue or self._tasks or any(m.batches for m in self._pool.members))

    def _give_out(self) -> None:
        """Start the actors that are missing, then give batches to tasks and actors."""
        queue, members = self._queue, self._pool.members
        while queue and len(members) < self._actors:
            self._pool.start_one()
        # actors get their CPUs before tasks do
        if self._prefetcher is not None and all(member.node for member in members):
            self._prefetcher.start_tasks(queue, BATCHES_PER_ACTOR * self._actors)
        for depth in range(1, BATCHES_PER_ACTOR + 1):  # a first batch for each, then a second one
            for member in members:
                if queue and member.has_room(depth, queue.suspect):
                    batch = queue.take()
                    # prefetched items go from node to node, not through the driver
                    items = batch.items if batch.prefetched is None else batch.prefetched
                    prepared = self._prepared
                    reference = member.handle.work.remote(prepared.hex(), [prepared], items)
                    member.batches.append((reference, batch))

    def _wait(self) -> Iterator[tuple[int, Any]]:
        """The results of whoever is done next; none if nobody is for a while."""
        members = self._pool.members
        by_reference = {member.next: member for member in members if member.next is not None}
        waiting = [*by_reference, *self._tasks]
        done, _ = self._ray.wait(waiting, num_returns=1, timeout=_PATIENCE)
        if not done:
            self._look_for_reasons()
        for reference in done:
            if reference in self._tasks:
                yield from self._take_prefetched(reference)
            else:
                yield from self._take_results(by_reference[reference])

    def _look_for_reasons(self) -> None:
        """Nothing was done for a while: take back what waits for CPUs, or tell the user."""
        members = self._pool.members
        idle = any(member.node and not member.batches for member in members)
        if idle and self._prefetcher is not None:  # the CPUs of the tasks are gone or taken
            self._queue.first.extend(self._prefetcher.cancel())
        elif not self._warned and not any(member.node for member in members):
            logger.warning("waiting for the cluster to find room for a worker")
            self._warned = True

    def _take_results(self, member: Member[T]) -> list[tuple[int, Any]]:
        """What a member delivers: that it lives, results, or its death."""
        errors = self._ray.exceptions
        try:
            found: Any = self._get(member.next)
        except errors.RayTaskError as error:  # the member itself lives
            if member.node is None or member.batches[0][1].prefetched is None:
                raise OtadtkError(f"A Ray worker failed: {last_line(error)}") from error
            _, batch = member.batches.popleft()  # the prefetched items died with their node
            return self._repeat(batch)
        except errors.RayError as error:
            return self._repeat_all(member, error)
        if member.node is None:
            self._pool.has_started(member, found)
            return []
        member.batches.popleft()
        nodes = self.summary.nodes
        nodes[member.node] = nodes.get(member.node, 0) + len(found)
        results: list[tuple[int, Any]] = found
        return results

    def _take_prefetched(self, reference: Any) -> list[tuple[int, Any]]:
        """Queue a batch that a task has prefetched; repeat one at which it died."""
        batch = self._tasks.pop(reference)
        try:
            node = self._pool.node_name(self._get(reference))
        except self._ray.exceptions.RayError:
            return self._repeat(batch)
        prefetched = self.summary.prefetched
        prefetched[node] = prefetched.get(node, 0) + len(batch.items)
        self._queue.first.append(batch)
        return []

    def _get(self, reference: Any) -> Any:
        """The value of a reference; an exception of the work itself is raised as it is."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, Exception) and not isinstance(cause, errors.RayError):
                raise cause from None
            raise

    def _repeat_all(self, member: Member[T], error: Exception) -> list[tuple[int, Any]]:
        """Queue again the batches of a dead member."""
        self._pool.remove(member, error)
        lost = []
        for position, (_, batch) in reversed(list(enumerate(member.batches))):
            if position >= self._pool.batches_at_once:  # it had not begun
                self._queue.first.appendleft(batch)
            else:
                lost += self._repeat(batch)
        return lost

    def _repeat(self, batch: Batch[T]) -> list[tuple[int, Any]]:
        """Queue the items of a batch one by one, after a worker died at it; give up the last one.

        Their prefetched data are dropped: so it is always the actor who dies at the item that kills.
        """
        deaths = batch.deaths + 1
        if len(batch.items) == 1 and deaths >= _DEATHS:
            return [(batch.items[0][0], Lost(f"its worker died {deaths} times at it"))]
        self.summary.retries += 1
        self._queue.first.extendleft(Batch([item], deaths) for item in reversed(batch.items))
        return []
