"""The items of a run in batches, and the queue of batches that wait for a worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

from otadtk.engine.base import T


@dataclass
class Batch(Generic[T]):
    """Numbered items that are sent together, and how many workers died at them."""

    items: list[tuple[int, T]]
    deaths: int = 0
    prefetched: Any = None
    """A reference to the prefetched items in Ray's object store, if a task has prefetched them."""


class Queue(Generic[T]):
    """Batches that wait. Items are only looked at when their batch is taken.

    ``first`` holds the batches that go before new ones: those of dead workers, then prefetched ones.
    """

    def __init__(self, items: Sequence[T], size: int) -> None:
        self._items, self._size, self._start = items, size, 0
        self.first: deque[Batch[T]] = deque()

    def __bool__(self) -> bool:
        return bool(self.first) or self.has_new

    @property
    def has_new(self) -> bool:
        """Whether there are items that no worker has had yet."""
        return self._start < len(self._items)

    @property
    def prefetched(self) -> int:
        """How many prefetched batches wait."""
        return sum(batch.prefetched is not None for batch in self.first)

    @property
    def suspect(self) -> bool:
        """Whether a worker has died at the next batch."""
        return bool(self.first) and self.first[0].deaths > 0

    def take(self) -> Batch[T]:
        """The next batch."""
        return self.first.popleft() if self.first else self.take_new()

    def take_new(self) -> Batch[T]:
        """The next batch that no worker has had yet."""
        start, self._start = self._start, self._start + self._size
        return Batch(list(enumerate(self._items[start : self._start], start)))
