"""Executes work on a Ray cluster: a pool of actors, each of which prepares once and takes batches.

A batch whose actor dies, alone or with its node, is given out again, item by item: the item that
kills is found by the second death and given up after the third. Results are only the driver's when
they have arrived, so nothing is lost but what a dead actor had at hand.

An actor that holds a share of a GPU works at two batches at once: while the network is busy with
one, the CPUs read and decode the other. On a CPU both would want the same cores.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

from otadtk.engine.actor import Actor, Shared
from otadtk.engine.base import Engine, Lost, R, RunSummary, T, Worker
from otadtk.engine.batches import Batch, Member, Queue
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
"""Seconds without any actor after which the user is told."""


@final
class RayEngine(Engine):
    """Actors on a Ray cluster.

    ``address`` is the cluster's (default: ``$RAY_ADDRESS``, else one is started on this machine);
    ``num_actors`` as many as fit by default; each takes ``threads`` CPUs and as many clips at a
    time, and ``gpus_per_actor`` GPUs, which may be a fraction. otadtk, the audio and the store
    must be reachable under the same names on every node.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        num_actors: int | None = None,
        gpus_per_actor: float = 0.0,
        batch_size: int | None = None,
        threads: int | None = None,
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
    ) -> Iterator[tuple[int, R | Lost]]:
        """The results as they arrive; an item that keeps killing its worker is lost."""
        from tqdm import tqdm

        with self._lock:  # one run at a time: each wants the whole cluster
            self._connect()
            _pickle_own_encoders_by_value()
            actors = max(1, min(self._wanted(), -(-len(items) // self._threads)))
            even = max(self._threads, -(-len(items) // (actors * _ROUNDS)))
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

    def _results(
        self, prepared: Any, queue: Queue[T], actors: int
    ) -> Iterator[tuple[int, R | Lost]]:
        """All results, whoever dies meanwhile."""
        summary = self.summary = RunSummary()
        began, lost_in_a_row, told = time.monotonic(), 0, False
        while queue or any(member.at_hand for member in self._members):
            while queue and len(self._members) < actors:
                self._hire()
            for depth in range(1, _AT_HAND + 1):  # nobody has two before everybody has one
                for member in self._members:
                    if queue and member.has_room(depth, queue.suspect):
                        batch = queue.take()
                        ref = member.handle.work.remote(prepared.hex(), [prepared], batch.items)
                        member.at_hand.append((ref, batch))
            by_ref = {member.next: member for member in self._members if member.next is not None}
            done, _ = self._ray.wait(list(by_ref), num_returns=1, timeout=_PATIENCE)
            if not done and not told and not any(m.node for m in self._members):
                logger.warning("waiting for the cluster to find room for a worker")
                told = True
            for member in (by_ref[ref] for ref in done):
                for index, result in self._deliver(member, queue, summary):
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
            found: Any = self._ray.get(member.next)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, Exception) and not isinstance(cause, errors.RayError):
                raise cause from None
            raise OtadtkError(f"A Ray worker failed: {_last_line(error)}") from error
        except errors.RayError as error:
            return self._bury(member, queue, summary, error)
        if member.node is None:
            member.node, self._stillborn = self._node_name(found), 0
            return []
        member.at_hand.popleft()
        summary.nodes[member.node] = summary.nodes.get(member.node, 0) + len(found)
        results: list[tuple[int, Any]] = found
        return results

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
                    f"{_last_line(error)}"
                ) from error
            return []
        lost = []
        for place, (_, batch) in reversed(list(enumerate(member.at_hand))):
            if place >= self._at_once:  # it had not begun
                queue.again.appendleft(batch)
                continue
            deaths = batch.deaths + 1
            if len(batch.items) == 1 and deaths >= _DEATHS:
                lost.append((batch.items[0][0], Lost(f"its worker died {deaths} times at it")))
                continue
            summary.retries += 1
            queue.again.extendleft(Batch([item], deaths) for item in reversed(batch.items))
        return lost

    def _connect(self) -> None:
        _keep_stdout_for_results()
        if self._ray.is_initialized():
            return
        address = self._address or os.environ.get("RAY_ADDRESS") or "local"
        _knock(address)
        alone: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        try:
            self._ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(alone if address == "local" else {}),
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UsageError(f"No Ray cluster answers at {address}: {_last_line(error)}") from error
        except Exception as error:  # Ray's own word for a machine too busy to start on
            raise OtadtkError(f"Ray did not start: {_last_line(error)}") from error
        self._started_ray = True

    def _wanted(self) -> int:
        """How many actors to keep: as many as were asked for, or as fit on the nodes there are."""
        if self._num_actors is not None:
            return self._num_actors
        fit = 0
        for node in self._ray.nodes():
            if node["Alive"]:
                room = int(node["Resources"].get("CPU", 0.0) // self._threads)
                if self._gpus:
                    room = min(room, _shares(node["Resources"].get("GPU", 0.0), self._gpus))
                fit += room
        if fit == 0:
            gpus = f" and {self._gpus:g} GPU" if self._gpus else ""
            raise UsageError(
                f"No node of the Ray cluster has {self._threads} CPU{gpus} for a worker; ask for "
                f"less (--workers, --gpus-per-actor), or name --num-actors and let it grow."
            )
        return fit

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
        self._members.clear()

    def close(self) -> None:
        """End the actors, and Ray itself if this engine has started or joined it."""
        self._dismiss()
        if self._started_ray:
            self._ray.shutdown()
            self._started_ray = False


def _knock(address: str) -> None:
    """Refuse an address where nobody listens: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"No Ray cluster answers at {address}: {reason}.") from None


def _shares(gpus: float, share: float) -> int:
    """How many actors fit on a node's GPUs; one of a fraction stays on one GPU."""
    return int(gpus) * int(1.0 / share + 1e-6) if share <= 1.0 else int(gpus // share)


def _keep_stdout_for_results() -> None:
    """Ray tells of dead nodes on stdout, in the middle of a score or of JSON; send it to stderr."""
    from ray._private import worker

    module: Any = worker
    tell = getattr(module, "print_to_stdstream", None)
    if tell is not None and not hasattr(tell, "by_otadtk"):

        def tell_on_stderr(data: dict[str, Any], *rest: Any, **options: Any) -> None:
            tell({**data, "is_err": True}, *rest, **options)

        tell_on_stderr.by_otadtk = True  # type: ignore[attr-defined]
        module.print_to_stdstream = tell_on_stderr


def _pickle_own_encoders_by_value() -> None:
    """One's own encoder from a file is no module that a worker could import."""
    import ray

    cloudpickle: Any = ray.cloudpickle
    for name, module in list(sys.modules.items()):
        if name.startswith("otadtk_own_"):
            cloudpickle.register_pickle_by_value(module)


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
