"""The actors of a Ray engine; they are kept from one run to the next."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Generic

from otadtk.engine.base import T
from otadtk.engine.ray.actor import Actor
from otadtk.engine.ray.batches import Batch
from otadtk.engine.ray.cluster import last_line
from otadtk.errors import OtadtkError

BATCHES_PER_ACTOR = 2
"""Batches an actor has: one it works at and one that waits; with a GPU it works at both."""
_FAILED_STARTS = 3
"""Actors that may die in a row while they start."""


@dataclass(eq=False)
class Member(Generic[T]):
    """An actor as the driver sees it; it gets work once it is known to live."""

    handle: Any
    ready: Any
    node: str | None = None
    """Where it lives; ``None`` until it has answered."""
    batches: deque[tuple[Any, Batch[T]]] = field(default_factory=deque)
    """The batches that it has, oldest first, each with the reference of its results."""

    @property
    def next(self) -> Any:
        """The reference that it will deliver next: actors answer in the order of the calls."""
        if self.node is None:
            return self.ready
        return self.batches[0][0] if self.batches else None

    def has_room(self, depth: int, suspect: bool) -> bool:
        """Whether it may get one more batch; a batch at which a worker has died stays alone."""
        alone = suspect or any(batch.deaths for _, batch in self.batches)
        return self.node is not None and len(self.batches) < (1 if alone else depth)


class ActorPool:
    """Actors of ``threads`` CPUs and ``gpus`` GPUs each."""

    def __init__(self, ray: Any, *, threads: int, gpus: float) -> None:
        self.ray, self._threads, self._gpus = ray, threads, gpus
        self.batches_at_once = BATCHES_PER_ACTOR if gpus else 1
        """At how many batches an actor works at once."""
        self.members: list[Member[Any]] = []
        self._failed_starts = 0

    def start_one(self) -> None:
        """Ask Ray for one more actor."""
        actor = self.ray.remote(Actor).options(
            num_cpus=self._threads,
            num_gpus=self._gpus,
            max_concurrency=self.batches_at_once,
            scheduling_strategy="SPREAD",
        )
        handle = actor.remote(self._threads)
        self.members.append(Member(handle, handle.node.remote()))

    def has_started(self, member: Member[Any], node_id: str) -> None:
        """Note where an actor lives, now that it has answered."""
        member.node, self._failed_starts = self.node_name(node_id), 0

    def remove(self, member: Member[Any], error: Exception) -> None:
        """Drop a dead actor; an OtadtkError if several in a row died while they started."""
        self.members.remove(member)
        self.ray.kill(member.handle)
        if member.node is not None:
            return
        self._failed_starts += 1
        if self._failed_starts >= _FAILED_STARTS:
            raise OtadtkError(
                f"The Ray workers die while they start; is otadtk installed on every node? "
                f"{last_line(error)}"
            ) from error

    def node_name(self, node_id: str) -> str:
        """Address and id of a node: several nodes may have one address."""
        addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in self.ray.nodes()}
        return f"{addresses.get(node_id, 'node')}/{node_id[:6]}"

    def close(self) -> None:
        """End all actors, whatever they are doing."""
        if self.ray.is_initialized():
            for member in self.members:
                self.ray.kill(member.handle)
        self.members.clear()
