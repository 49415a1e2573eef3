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
    """Batches to give out; those of dead workers first. Items are only touched when it is time."""

    def __init__(self, items: Sequence[T], size: int) -> None:
        self._items, self._size, self._start = items, size, 0
        self.again: deque[Batch[T]] = deque()

    def __bool__(self) -> bool:
        return bool(self.again) or self._start < len(self._items)

    @property
    def suspect(self) -> bool:
        """Whether a worker has died at the next batch."""
        return bool(self.again) and self.again[0].deaths > 0

    def take(self) -> Batch[T]:
        """The next batch."""
        if self.again:
            return self.again.popleft()
        start, self._start = self._start, self._start + self._size
        return Batch(list(enumerate(self._items[start : self._start], start)))
