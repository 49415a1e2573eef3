"""The interface of an engine: it takes items through work that is described once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import ClassVar, TypeVar, final

from otadtk.errors import OtadtkError

T = TypeVar("T")
R = TypeVar("R")

Worker = Callable[[Iterator[tuple[int, T]]], Iterator[tuple[int, R]]]
"""Takes numbered items when it needs them, and gives numbered results when they are done."""


@dataclass(frozen=True)
class Lost:
    """Takes the place of a result that could not be computed, with the reason."""

    reason: str


@dataclass
class RunSummary:
    """The figures of a run over several nodes."""

    seconds: float = 0.0
    nodes: dict[str, int] = field(default_factory=dict)
    """How many items each node finished."""
    prefetched: dict[str, int] = field(default_factory=dict)
    """How many items each node prefetched for the workers of others."""
    retries: int = 0
    """Batches that were repeated because their worker had died."""

    def describe(self, unit: str, bad: int) -> str:
        """The figures in one line."""
        rates = [
            f"{name} {count / max(self.seconds, 1e-9):.1f} {unit}s/s"
            for name, count in sorted(self.nodes.items())
        ]
        prefetched = (
            f"{sum(self.prefetched.values())} prefetched on "
            f"{_count(len(self.prefetched), 'node', 's')}, "
        )
        return (
            f"{sum(self.nodes.values())} {unit}s in {self.seconds:.1f} s on "
            f"{_count(len(rates), 'node', 's')} ({', '.join(rates)}); "
            f"{prefetched if self.prefetched else ''}"
            f"{_count(self.retries, 'batch', 'es')} retried, {_count(bad, 'bad file', 's')}"
        )


class Engine(ABC):
    """Takes items through described work.

    ``prepare`` is the description: it is called without arguments where the work is done, and gives
    the worker. It must be picklable, and so must items and results. An engine may be used for many
    runs; ``close`` (or ``with``) frees what it holds.
    """

    distributed: ClassVar[bool] = False
    """Whether the workers are other processes, so that data has to be sent to them."""
    summary: RunSummary | None = None
    """The figures of the last run; ``None`` for an engine that keeps none."""

    @property
    def workers(self) -> int:
        """How many items are processed at a time."""
        return 1

    def share(self, value: T) -> Callable[[], T]:
        """A small handle by which the workers of several runs get one large value.

        In every process all calls of the handle give the same object. It stays in memory until
        another value is shared.
        """
        return lambda: value

    @abstractmethod
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
        """The results, numbered as their items, in the order in which they are done.

        Shows one progress bar, after ``delay`` seconds. ``batch_size`` is how many items are sent
        together for each thread, where they are sent. ``prefetch`` does the first part of the work:
        a worker takes its results in place of the items. An engine may call it on free CPUs, or
        not at all. An exception of a worker ends the run.
        """

    @final
    def map(
        self,
        prepare: Callable[[], Callable[[T], R]],
        items: Sequence[T],
        *,
        title: str,
        unit: str = "part",
        delay: float = 2.0,
    ) -> list[R]:
        """The values of a function at all items, in their order; each call has one torch thread."""
        found: dict[int, R] = {}
        runs = self.run(
            partial(_each, prepare), items, title=title, unit=unit, batch_size=1, delay=delay
        )
        for index, result in runs:
            if isinstance(result, Lost):
                raise OtadtkError(f"{title}, {unit} {index + 1}: {result.reason}.")
            found[index] = result
        return [found[index] for index in range(len(items))]

    @abstractmethod
    def close(self) -> None:
        """Free what the engine holds; it may still be used again."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _each(prepare: Callable[[], Callable[[T], R]]) -> Worker[T, R]:
    """A function of one item as a worker."""
    import torch

    function = prepare()

    def work(items: Iterator[tuple[int, T]]) -> Iterator[tuple[int, R]]:
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)  # of this worker's thread
        for index, item in items:
            yield index, function(item)

    return work


def _count(number: int, name: str, plural: str) -> str:
    return f"{number or 'no'} {name}{'' if number == 1 else plural}"
