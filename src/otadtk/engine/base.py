"""What an engine is: work described once, its items taken through it in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TypeVar, final

from otadtk.errors import OtadtkError

T = TypeVar("T")
R = TypeVar("R")

Worker = Callable[[Iterator[tuple[int, T]]], Iterator[tuple[int, R]]]
"""Takes numbered items as it needs them and gives numbered results as they are done."""


@dataclass(frozen=True)
class Lost:
    """Stands for the result of an item that could not be computed, and says why."""

    reason: str


@dataclass
class RunSummary:
    """What a run over several nodes did."""

    seconds: float = 0.0
    nodes: dict[str, int] = field(default_factory=dict)
    """How many items each node finished."""
    ahead: dict[str, int] = field(default_factory=dict)
    """How many items each node decoded for the workers of others."""
    retries: int = 0
    """Batches that were given out again because their worker had died."""

    def describe(self, unit: str, bad: int) -> str:
        """All of it in one line."""
        rates = [
            f"{name} {count / max(self.seconds, 1e-9):.1f} {unit}s/s"
            for name, count in sorted(self.nodes.items())
        ]
        ahead = f"{sum(self.ahead.values())} read ahead on {_count(len(self.ahead), 'node', 's')}, "
        return (
            f"{sum(self.nodes.values())} {unit}s in {self.seconds:.1f} s on "
            f"{_count(len(rates), 'node', 's')} ({', '.join(rates)}); {ahead if self.ahead else ''}"
            f"{_count(self.retries, 'batch', 'es')} retried, {_count(bad, 'bad file', 's')}"
        )


class Engine(ABC):
    """Takes items through described work.

    ``prepare`` is the description: called without arguments where the work is done, it gives the
    worker. It must survive pickling, as must items and results. An engine may be used again and
    again; ``close`` (or ``with``) frees what it holds.
    """

    summary: RunSummary | None = None
    """Of the last run, where there is more to say than that it is done."""

    @property
    def workers(self) -> int:
        """How many items are worked at at a time."""
        return 1

    def share(self, value: T) -> Callable[[], T]:
        """A handle by which the work of several runs gets at one large value.

        It travels for little; in every process all calls give the same object, which stays there
        until another value is shared.
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
        ahead: Callable[[Sequence[T]], list[T]] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:
        """The results, numbered as their items, in the order in which they are done.

        Shows one progress bar, after ``delay`` seconds. ``batch_size`` is how many items travel
        together for each thread, where they travel. What ``ahead`` makes of some items a worker
        takes as well as the items: where CPUs are free that no worker has, they may do that part
        of its work. An exception of a worker ends the run.
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
        """The values of a function at all items, in their order; each counts on one torch thread."""
        found: dict[int, R] = {}
        runs = self.run(
            *(partial(_each, prepare), items), title=title, unit=unit, batch_size=1, delay=delay
        )
        for index, result in runs:
            if isinstance(result, Lost):
                raise OtadtkError(f"{title}, {unit} {index + 1}: {result.reason}.")
            found[index] = result
        return [found[index] for index in range(len(items))]

    @abstractmethod
    def close(self) -> None:
        """Free what the engine holds; it may be used again all the same."""

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
