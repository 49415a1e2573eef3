"""Which part of a file is a clip: from when to when, and which channel."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a file; without arguments the whole of it."""

    start: float = 0.0
    """Seconds from the beginning."""
    end: float | None = None
    """Seconds from the beginning; ``None`` for the end of the file."""
    channel: int | None = None
    """The only channel that is heard, from 0; ``None`` for all."""

    @property
    def whole(self) -> bool:
        """Whether this is all of the file."""
        return self == Excerpt()

    def describe(self) -> str:
        """The part as a fragment of an address, such as ``t=1.5,3``; empty for the whole file.

        >>> Excerpt(1.5, 3).describe(), Excerpt(channel=1).describe()
        ('t=1.5,3', 'channel=right')
        """
        words = []
        if self.start or self.end is not None:
            words.append(f"t={_seconds(self.start)},{_seconds(self.end)}")
        if self.channel is not None:
            words.append(f"channel={_CHANNELS.get(self.channel, self.channel + 1)}")
        return "&".join(words)

    def key(self, digest: str) -> str:
        """The hash of this part of a file, from the hash of its bytes; of the whole, that itself."""
        if self.whole:
            return digest
        return hashlib.sha256(f"{digest}#{self.describe()}".encode()).hexdigest()


WHOLE = Excerpt()
_CHANNELS = {0: "left", 1: "right"}


def _seconds(number: float | None) -> str:
    """A number in its shortest form that tells it from all others."""
    if number is None:
        return ""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
