"""The engine on a Ray cluster: a pool of actors, each of which prepares once and takes batches.

An actor with a GPU works at two batches at once: while the network is busy with one, the CPUs read
and decode the other. On a CPU both would want the same cores. CPUs that no actor has, on any node,
prefetch for such actors. An actor that finds nothing prefetched does that part itself, so it never
waits for CPUs that are busy or gone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, final

from otadtk.engine.base import Engine, Lost, R, T, Worker
from otadtk.engine.progress import progress_bar
from otadtk.engine.ray.actor import Shared
from otadtk.engine.ray.batches import Queue
from otadtk.engine.ray.cluster import (
    all_cpus,
    connect,
    pickle_custom_encoders_by_value,
    room_for_actors,
)
from otadtk.engine.ray.pool import ActorPool
from otadtk.engine.ray.prefetch import Prefetcher
from otadtk.engine.ray.run import Run
from otadtk.errors import UsageError

DEFAULT_BATCH = 64
_ROUNDS = 4
"""Batches for each actor at least, so that all end at about the same time."""


@final
class RayEngine(Engine):
    """Actors on a Ray cluster.

    ``address`` is the cluster's (default: ``$RAY_ADDRESS``, else one is started on this machine).
    There are ``num_actors``, or as many as fit. Each takes ``threads`` CPUs, and as many clips at a
    time, and ``gpus_per_actor`` GPUs, which may be a fraction. Audio is decoded by the actors, or
    by tasks on the CPUs that these leave free (``decode``; default: tasks for actors with GPUs).
    otadtk, the audio and the store must be reachable under the same names on every node.
    """

    distributed = True

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
            raise UsageError(
                'The engine "ray" needs Ray: pip install "otadtk-audio[ray]".'
            ) from None
        self._ray: Any = ray
        self._address, self._num_actors = address, num_actors
        self._gpus, self._threads = gpus_per_actor, threads or 1
        self._batch_size = batch_size or DEFAULT_BATCH
        self._decode = decode or ("tasks" if gpus_per_actor else "actors")
        self._tasks_required = decode == "tasks"
        self.pool = ActorPool(ray, threads=self._threads, gpus=gpus_per_actor)
        self._started_ray = False
        self._lock = threading.RLock()

    @property
    def workers(self) -> int:
        """The threads of all actors that fit."""
        with self._lock:
            self._connect()
            return self._wanted_actors() * self._threads

    def share(self, value: T) -> Callable[[], T]:
        """A handle of the value in Ray's object store: it is sent to every node once."""
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
        prefetch: Callable[[Sequence[T]], list[T]] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:
        """The results as they arrive; an item that keeps killing its worker is lost."""
        with self._lock:  # one run at a time: each uses the whole cluster
            self._connect()
            pickle_custom_encoders_by_value()
            actors = max(1, min(self._wanted_actors(), -(-len(items) // self._threads)))
            prefetcher, tasks = self._prefetcher(prefetch)
            even = max(self._threads, -(-len(items) // ((actors + tasks) * _ROUNDS)))
            most = self._threads * batch_size if batch_size else self._batch_size
            queue = Queue(items, min(most, even))
            run = Run(self.pool, queue, self._ray.put(prepare), actors, prefetcher)
            self.summary = run.summary
            try:
                with progress_bar(total=len(items), desc=title, unit=unit, delay=delay) as bar:
                    for result in run.results():
                        yield result
                        bar.update()
            except BaseException:
                self.pool.close()  # its actors are still busy with this run
                run.cancel()
                raise

    def _prefetcher(
        self, function: Callable[[Sequence[T]], list[T]] | None
    ) -> tuple[Prefetcher[T] | None, int]:
        """(what prefetches, the CPUs that it has), or (None, 0) if actors do all the work."""
        if function is None or self._decode == "actors":
            return None, 0

        def free_beside(actors: int) -> int:
            return max(0, all_cpus(self._ray) - actors * self._threads)

        wanted = self._wanted_actors()
        free = free_beside(wanted)
        if self._tasks_required and not free:
            raise UsageError(
                f"--decode tasks needs CPUs beside those of the actors, {wanted} of {self._threads} "
                f"CPU each, which leave none; ask for less (--num-actors, --workers)."
            )
        members = self.pool.members
        return Prefetcher(self._ray, function, lambda: free_beside(len(members))), free

    def _connect(self) -> None:
        self._started_ray = connect(self._ray, self._address) or self._started_ray

    def _wanted_actors(self) -> int:
        """As many actors as were asked for, or as fit on the nodes that live."""
        if self._num_actors is not None:
            return self._num_actors
        return room_for_actors(self._ray, self._threads, self._gpus)

    def close(self) -> None:
        """End the actors, and Ray itself if this engine has started or joined it."""
        self.pool.close()
        if self._started_ray:
            self._ray.shutdown()
            self._started_ray = False
