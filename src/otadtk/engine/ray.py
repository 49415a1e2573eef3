"""Executes work on a Ray cluster: a pool of actors, each of which prepares once and takes batches.

A batch whose actor dies, alone or with its node, is given out again, item by item: the item that
kills is found by the second death and given up after the third. Results are only the driver's when
they have arrived, so nothing is lost but what a dead actor had at hand.

An actor that holds a share of a GPU works at two batches at once: while the network is busy with
one, the CPUs read and decode the other. On a CPU both would want the same cores. CPUs that no actor
has, on whatever node, decode for such actors; an actor that finds nothing decoded does it itself, so
nobody waits for CPUs that are busy or gone.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, final

from otadtk.engine.actor import Actor, Shared
from otadtk.engine.ahead import Ahead
from otadtk.engine.base import Engine, Lost, R, RunSummary, T, Worker
from otadtk.engine.batches import Batch, Member, Queue
from otadtk.engine.cluster import (
    all_cpus,
    connect,
    last_line,
    pickle_own_encoders_by_value,
    room_for_actors,
)
from otadtk.errors import OtadtkError, UsageError

logger = logging.getLogger(__name__)

DEFAULT_BATCH = 64
_AT_HAND = 2
"""Batches an actor has: one it works at, one that waits, or with a GPU is worked at as well."""
_ROUNDS = 4
"""Batches for each actor at least, so that all end at about the same time."""
_DEATHS = 3
"""Workers that may die at one item, or in a row while starting."""
_LOST_IN_A_ROW = 10
"""Items given up, with none finished in between, after which the cluster is to blame."""
_PATIENCE = 30.0
"""Seconds without any actor after which the user is told, or that idle actors wait for tasks."""


@final
class RayEngine(Engine):
    """Actors on a Ray cluster.

    ``address`` is the cluster's (default: ``$RAY_ADDRESS``, else one is started on this machine);
    ``num_actors`` as many as fit by default; each takes ``threads`` CPUs and as many clips at a
    time, and ``gpus_per_actor`` GPUs, which may be a fraction. Audio is decoded by the actors, or
    by tasks on the CPUs that these leave free (``decode``; default: tasks for actors with GPUs).
    otadtk, the audio and the store must be reachable under the same names on every node.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        num_actors: int | None = None,
        gpus_per_actor: float = 0.0,
        batch_size: int | None = None,
        threads: int | None = None,
        decode: Literal["tasks", "actors"] | None = None,
    ) -> None:
        try:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            import ray
        except ImportError:
            raise UsageError('The engine "ray" needs Ray: pip install "otadtk[ray]".') from None
        self._ray: Any = ray
        self._address, self._num_actors = address, num_actors
        self._gpus, self._threads = gpus_per_actor, threads or 1
        self._at_once = _AT_HAND if gpus_per_actor else 1
        self._batch_size = batch_size or DEFAULT_BATCH
        self._decode = decode
        self._ahead: Ahead[Any] | None = None
        self._members: list[Member[Any]] = []
        self._stillborn = 0
        self._started_ray = False
        self._lock = threading.RLock()

    @property
    def workers(self) -> int:
        """The threads of all actors that fit."""
        with self._lock:
            self._connect()
            return self._wanted() * self._threads

    def share(self, value: T) -> Callable[[], T]:
        """The value in Ray's object store: it travels to every node once."""
        with self._lock:
            self._connect()
            return Shared(self._ray.put(value))

    def run(
        self,
        prepare: Callable[[], Worker[T, R]],
        items: Sequence[T],
        *,
        title: str,
        unit: str,
        batch_size: int | None = None,
        delay: float = 0.0,
        ahead: Callable[[Sequence[T]], list[T]] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:
        """The results as they arrive; an item that keeps killing its worker is lost."""
        from tqdm import tqdm

        with self._lock:  # one run at a time: each wants the whole cluster
            self._connect()
            pickle_own_encoders_by_value()
            actors = max(1, min(self._wanted(), -(-len(items) // self._threads)))
            takers = actors + self._start_tasks(ahead)
            even = max(self._threads, -(-len(items) // (takers * _ROUNDS)))
            most = self._threads * batch_size if batch_size else self._batch_size
            queue = Queue(items, min(most, even))
            prepared = self._ray.put(prepare)
            try:
                with tqdm(
                    total=len(items), desc=title, unit=unit, delay=delay, disable=None
                ) as bar:
                    for result in self._results(prepared, queue, actors):
                        yield result
                        bar.update()
            except BaseException:
                self._dismiss()  # they are still at work
                raise
            finally:
                self._ahead = None

    def _results(
        self, prepared: Any, queue: Queue[T], actors: int
    ) -> Iterator[tuple[int, R | Lost]]:
        """All results, whoever dies meanwhile."""
        summary = self.summary = RunSummary()
        began, lost_in_a_row, told = time.monotonic(), 0, False
        tasks: dict[Any, Batch[T]] = self._ahead.at_work if self._ahead else {}
        while queue or tasks or any(member.at_hand for member in self._members):
            while queue and len(self._members) < actors:
                self._hire()
            if self._ahead and all(member.node for member in self._members):  # actors go first
                self._ahead.give_out(queue, _AT_HAND * actors)
            for depth in range(1, _AT_HAND + 1):  # nobody has two before everybody has one
                for member in self._members:
                    if queue and member.has_room(depth, queue.suspect):
                        batch = queue.take()
                        # what was done ahead goes there by itself, without passing the driver
                        items = batch.items if batch.done is None else batch.done
                        ref = member.handle.work.remote(prepared.hex(), [prepared], items)
                        member.at_hand.append((ref, batch))
            by_ref = {member.next: member for member in self._members if member.next is not None}
            done, _ = self._ray.wait([*by_ref, *tasks], num_returns=1, timeout=_PATIENCE)
            idle = any(member.node and not member.at_hand for member in self._members)
            if not done and idle and self._ahead:  # its CPUs are gone, or others have them
                queue.first.extend(self._ahead.recall())
            elif not done and not told and not any(m.node for m in self._members):
                logger.warning("waiting for the cluster to find room for a worker")
                told = True
            for ref in done:
                found = (
                    self._settle(ref, queue, summary)
                    if ref in tasks
                    else self._deliver(by_ref[ref], queue, summary)
                )
                for index, result in found:
                    lost_in_a_row = lost_in_a_row + 1 if isinstance(result, Lost) else 0
                    if lost_in_a_row >= _LOST_IN_A_ROW:
                        raise OtadtkError(
                            f"The Ray workers die at every item ({lost_in_a_row} in a row): look at "
                            f"Ray's logs for the reason."
                        )
                    yield index, result
            summary.seconds = time.monotonic() - began

    def _deliver(
        self, member: Member[T], queue: Queue[T], summary: RunSummary
    ) -> list[tuple[int, Any]]:
        """What a member has to say: that it lives, its results, or nothing any more."""
        errors = self._ray.exceptions
        try:
            found: Any = self._get(member.next)
        except errors.RayTaskError as error:  # the member itself lives
            if member.node is None or member.at_hand[0][1].done is None:
                raise OtadtkError(f"A Ray worker failed: {last_line(error)}") from error
            _, batch = member.at_hand.popleft()  # what was done ahead is gone with its node
            return self._again(batch, queue, summary)
        except errors.RayError as error:
            return self._bury(member, queue, summary, error)
        if member.node is None:
            member.node, self._stillborn = self._node_name(found), 0
            return []
        member.at_hand.popleft()
        summary.nodes[member.node] = summary.nodes.get(member.node, 0) + len(found)
        results: list[tuple[int, Any]] = found
        return results

    def _settle(self, ref: Any, queue: Queue[T], summary: RunSummary) -> list[tuple[int, Any]]:
        """Let actors have a batch that a task has done, or what it died at."""
        assert self._ahead is not None
        batch = self._ahead.at_work.pop(ref)
        try:
            node = self._node_name(self._get(ref))
        except self._ray.exceptions.RayError:
            return self._again(batch, queue, summary)
        summary.ahead[node] = summary.ahead.get(node, 0) + len(batch.items)
        queue.first.append(batch)
        return []

    def _get(self, ref: Any) -> Any:
        """What has arrived; an exception of the work itself is raised as it is."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, Exception) and not isinstance(cause, errors.RayError):
                raise cause from None
            raise

    def _bury(
        self, member: Member[T], queue: Queue[T], summary: RunSummary, error: Exception
    ) -> list[tuple[int, Lost]]:
        """Give out again what a dead member had; the items of the batch it died at go one by one."""
        self._members.remove(member)
        self._ray.kill(member.handle)
        if member.node is None:
            self._stillborn += 1
            if self._stillborn >= _DEATHS:
                raise OtadtkError(
                    f"The Ray workers die while they start; is otadtk installed on every node? "
                    f"{last_line(error)}"
                ) from error
            return []
        lost = []
        for place, (_, batch) in reversed(list(enumerate(member.at_hand))):
            if place >= self._at_once:  # it had not begun
                queue.first.appendleft(batch)
            else:
                lost += self._again(batch, queue, summary)
        return lost

    def _again(
        self, batch: Batch[T], queue: Queue[T], summary: RunSummary
    ) -> list[tuple[int, Lost]]:
        """Give out one by one the items of a batch at which somebody died; give up the last one.

        Nothing is done to them ahead: so it is always the actor who dies at the one that kills.
        """
        deaths = batch.deaths + 1
        if len(batch.items) == 1 and deaths >= _DEATHS:
            return [(batch.items[0][0], Lost(f"its worker died {deaths} times at it"))]
        summary.retries += 1
        queue.first.extendleft(Batch([item], deaths) for item in reversed(batch.items))
        return []

    def _start_tasks(self, ahead: Callable[[Sequence[T]], list[T]] | None) -> int:
        """How many CPUs there are for tasks that do something ahead, if they are to."""
        if ahead is None or (self._decode or ("tasks" if self._gpus else "actors")) == "actors":
            return 0

        def free(actors: int) -> int:
            return max(0, all_cpus(self._ray) - actors * self._threads)

        wanted = self._wanted()
        if self._decode == "tasks" and not free(wanted):
            raise UsageError(
                f"--decode tasks needs CPUs beside those of the actors, {wanted} of {self._threads} "
                f"CPU each, which leave none; ask for less (--num-actors, --workers)."
            )
        self._ahead = Ahead(self._ray, ahead, lambda: free(len(self._members)))
        return free(wanted)

    def _connect(self) -> None:
        self._started_ray = connect(self._ray, self._address) or self._started_ray

    def _wanted(self) -> int:
        """How many actors to keep: as many as were asked for, or as fit on the nodes there are."""
        if self._num_actors is not None:
            return self._num_actors
        return room_for_actors(self._ray, self._threads, self._gpus)

    def _node_name(self, node_id: str) -> str:
        """Address and id of a node: several may share an address."""
        places = {node["NodeID"]: node["NodeManagerAddress"] for node in self._ray.nodes()}
        return f"{places.get(node_id, 'node')}/{node_id[:6]}"

    def _hire(self) -> None:
        actor = self._ray.remote(Actor).options(
            num_cpus=self._threads,
            num_gpus=self._gpus,
            max_concurrency=self._at_once,
            scheduling_strategy="SPREAD",
        )
        handle = actor.remote(self._threads)
        self._members.append(Member(handle, handle.node.remote()))

    def _dismiss(self) -> None:
        if self._ray.is_initialized():
            for member in self._members:
                self._ray.kill(member.handle)
            if self._ahead is not None:
                self._ahead.recall()
        self._members.clear()

    def close(self) -> None:
        """End the actors, and Ray itself if this engine has started or joined it."""
        self._dismiss()
        if self._started_ray:
            self._ray.shutdown()
            self._started_ray = False
