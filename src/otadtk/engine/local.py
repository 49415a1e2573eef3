"""Executes work on the threads of this process: the default engine."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, final

from otadtk.engine.base import Engine, Lost, R, T, Worker


def default_workers() -> int:
    """One worker per core that this process may use, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(8, cores or 1)


@final
class LocalEngine(Engine):
    """So many threads that share one worker and take items from one queue."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or default_workers()

    @property
    def workers(self) -> int:
        """The threads."""
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
        ahead: Callable[[Sequence[T]], list[T]] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:
        """The results as they are done; threads take single items, and leave no core to do ahead."""
        from tqdm import tqdm

        total = len(items)
        with tqdm(total=total, desc=title, unit=unit, delay=delay, disable=None) as bar:
            for result in on_threads(prepare(), enumerate(items), min(self._workers, total)):
                yield result
                bar.update()

    def close(self) -> None:
        """Nothing: threads end with their run."""


def on_threads(
    worker: Worker[T, R], items: Iterator[tuple[int, T]], threads: int
) -> Iterator[tuple[int, R]]:
    """The worker's results from several threads; when one fails or the reader stops, all do."""
    shared = _Shared(items)
    results: queue.SimpleQueue[tuple[int, R] | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            for result in worker(shared):
                results.put(result)
            results.put(None)
        except BaseException as error:  # the reader raises it
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
    """Ends a worker in the middle of its items: what it has begun need not be finished."""


class _Shared(Generic[T]):
    """One iterator for several threads, which ends them when it is stopped."""

    def __init__(self, items: Iterator[tuple[int, T]]) -> None:
        self._items, self._lock, self.stop = items, threading.Lock(), threading.Event()

    def __iter__(self) -> _Shared[T]:
        return self

    def __next__(self) -> tuple[int, T]:
        if self.stop.is_set():
            raise _Stopped
        with self._lock:
            return next(self._items)
