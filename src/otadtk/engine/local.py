"""The default engine: threads of this process."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, final

from otadtk.engine.base import Engine, Lost, R, T, Worker
from otadtk.engine.progress import progress_bar
from otadtk.errors import UsageError


def default_workers() -> int:
    """One worker per core that this process may use, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(8, cores or 1)


@final
class LocalEngine(Engine):
    """Threads that share one worker and take items from one queue."""

    def __init__(self, workers: int | None = None) -> None:
        whole = isinstance(workers, int) and not isinstance(workers, bool)
        if workers is not None and not (whole and workers > 0):
            raise UsageError(f"workers must be a whole number above 0, not {workers!r}.")
        self._workers = workers or default_workers()

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self._workers

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
        """The results as they are done; threads take single items, and nothing is prefetched."""
        total = len(items)
        with progress_bar(total=total, desc=title, unit=unit, delay=delay) as bar:
            for result in on_threads(prepare(), enumerate(items), min(self._workers, total)):
                yield result
                bar.update()

    def close(self) -> None:
        """Nothing: threads end with their run."""


def on_threads(
    worker: Worker[T, R], items: Iterator[tuple[int, T]], threads: int
) -> Iterator[tuple[int, R]]:
    """The worker's results from several threads; all stop when one fails or the caller stops."""
    shared = _Shared(items)
    results: queue.SimpleQueue[tuple[int, R] | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            for result in worker(shared):
                results.put(result)
            results.put(None)
        except BaseException as error:  # the caller's thread raises it
            results.put(error)

    with ThreadPoolExecutor(max(1, threads)) as pool:
        running = max(1, threads)
        for _ in range(running):
            pool.submit(work)
        try:
            while running:
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                if result is None:
                    running -= 1
                else:
                    yield result
        finally:
            shared.stop.set()


class _Stopped(BaseException):
    """Ends a worker at once; unfinished items are dropped."""


class _Shared(Generic[T]):
    """One iterator for several threads; ``stop`` ends them."""

    def __init__(self, items: Iterator[tuple[int, T]]) -> None:
        self._items, self._lock, self.stop = items, threading.Lock(), threading.Event()

    def __iter__(self) -> _Shared[T]:
        return self

    def __next__(self) -> tuple[int, T]:
        if self.stop.is_set():
            raise _Stopped
        with self._lock:
            return next(self._items)
