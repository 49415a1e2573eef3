"""The work of a run in batches, and who has which of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from otadtk.engine.base import T


@dataclass
class Batch(Generic[T]):
    """Numbered items that travel together, and how many workers died at them."""

    items: list[tuple[int, T]]
    deaths: int = 0
    done: Any = None
    """What stands for the same items in Ray's object store, where a task has done something ahead."""


@dataclass(eq=False)
class Member(Generic[T]):
    """An actor as the driver sees it; it gets work when it is known to live."""

    handle: Any
    ready: Any
    node: str | None = None
    at_hand: deque[tuple[Any, Batch[T]]] = field(default_factory=deque)

    @property
    def next(self) -> Any:
        """What it is to deliver next: actors work in the order of asking."""
        if self.node is None:
            return self.ready
        return self.at_hand[0][0] if self.at_hand else None

    def has_room(self, depth: int, suspect: bool) -> bool:
        """Whether it may get one more batch; one at which a worker died before stays alone."""
        alone = suspect or any(batch.deaths for _, batch in self.at_hand)
        return self.node is not None and len(self.at_hand) < (1 if alone else depth)


class Queue(Generic[T]):
    """Batches to give out. Items are only touched when it is time.

    ``first`` has those that go before all fresh ones: of dead workers, then what was done ahead.
    """

    def __init__(self, items: Sequence[T], size: int) -> None:
        self._items, self._size, self._start = items, size, 0
        self.first: deque[Batch[T]] = deque()

    def __bool__(self) -> bool:
        return bool(self.first) or self.has_fresh

    @property
    def has_fresh(self) -> bool:
        """Whether there are items that nobody has had yet."""
        return self._start < len(self._items)

    @property
    def done_ahead(self) -> int:
        """How many batches wait of which something is done."""
        return sum(batch.done is not None for batch in self.first)

    @property
    def suspect(self) -> bool:
        """Whether a worker has died at the next batch."""
        return bool(self.first) and self.first[0].deaths > 0

    def take(self) -> Batch[T]:
        """The next batch."""
        return self.first.popleft() if self.first else self.take_fresh()

    def take_fresh(self) -> Batch[T]:
        """The next batch that nobody has had yet."""
        start, self._start = self._start, self._start + self._size
        return Batch(list(enumerate(self._items[start : self._start], start)))
