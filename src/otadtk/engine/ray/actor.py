"""What runs in the processes of a Ray cluster: actors, and the values that they share."""

from __future__ import annotations

import threading
import warnings
from typing import Any, ClassVar, Generic

from otadtk.engine.base import T
from otadtk.engine.local import on_threads

_unpacking = threading.Lock()


class Actor:
    """A worker process on a node; it prepares once for all batches of a run."""

    def __init__(self, threads: int) -> None:
        # what the object store hands out is read-only, and nothing here writes into it
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        self._threads, self._run, self._worker = threads, "", None
        self._lock = threading.Lock()

    def node(self) -> str:
        """The id of the node where it lives."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def work(
        self, run: str, prepare: list[Any], batch: list[tuple[int, Any]]
    ) -> list[tuple[int, Any]]:
        """The results of a batch."""
        import ray

        with self._lock:  # two batches at once prepare only once
            if run != self._run:
                self._worker, self._run = None, run  # free the last one first
                self._worker = ray.get(prepare[0])()
            worker = self._worker
        assert worker is not None
        if self._threads == 1:
            return list(worker(iter(batch)))
        return list(on_threads(worker, iter(batch), self._threads))


class Shared(Generic[T]):
    """A value in Ray's object store; a process keeps only the last one unpacked."""

    _unpacked: ClassVar[tuple[str, Any]] = ("", None)

    def __init__(self, ref: Any) -> None:
        self._ref = ref

    def __call__(self) -> T:
        """The same object every time."""
        import ray

        with _unpacking:
            if Shared._unpacked[0] != self._ref.hex():
                Shared._unpacked = "", None  # free the last one first
                Shared._unpacked = self._ref.hex(), ray.get(self._ref)
            value: T = Shared._unpacked[1]
        return value
