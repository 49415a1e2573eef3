"""What a listening test holds: clips with their references and ratings, or a dissimilarity matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError

FEWEST_SYSTEMS = 3
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Excerpt:
    """A sound: a file, or the part of it between two times in seconds."""

    file: Path
    start: float | None = None
    end: float | None = None

    @property
    def whole(self) -> bool:
        """Whether the sound is the file as it is."""
        return self.start is None and self.end is None


@dataclass(frozen=True)
class RatedClip:
    """A clip of a system: its item, its reference (its twin) if it has one, and its mean rating."""

    excerpt: Excerpt
    system: str
    item: str
    reference: Excerpt | None = None
    rating: float | None = None
    ratings: Mapping[str, float] = field(default_factory=dict)
    """By listener, where the test says who gave which."""

    @property
    def hidden(self) -> bool:
        """Whether the clip is its own reference: the hidden reference of a test."""
        return self.excerpt == self.reference


@dataclass(frozen=True)
class RatedSet:
    """The clips of one test, and the sounds that serve as references without being twins.

    ``system_ratings`` holds ratings of systems as wholes, by listener; where there are any, they
    are the ratings of the systems, and clips have none.
    """

    name: str
    clips: tuple[RatedClip, ...]
    references: tuple[Excerpt, ...] = ()
    system_ratings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in the order of their first clip."""
        return tuple(dict.fromkeys(clip.system for clip in self.clips))

    @property
    def items(self) -> tuple[str, ...]:
        """The items, in the order of their first clip."""
        return tuple(dict.fromkeys(clip.item for clip in self.clips))

    def excerpts(self) -> Iterator[Excerpt]:
        """Every sound of the test; some come twice."""
        for clip in self.clips:
            yield clip.excerpt
            if clip.reference is not None:
                yield clip.reference
        yield from self.references


@dataclass(frozen=True, eq=False)
class DissimilaritySet:
    """Sounds, and how different listeners found each pair: symmetric, with zeros as its diagonal."""

    name: str
    sounds: tuple[Excerpt, ...]
    matrix: Numbers

    def excerpts(self) -> Iterator[Excerpt]:
        """Every sound."""
        yield from self.sounds


ListeningSet = RatedSet | DissimilaritySet


def checked(test: RatedSet) -> RatedSet:
    """The test itself, if systems can be ranked in it; a UsageError otherwise."""
    if len(test.systems) < FEWEST_SYSTEMS:
        raise UsageError(
            f"{test.name} has {len(test.systems)} systems ({', '.join(test.systems)}); a ranking "
            f"needs {FEWEST_SYSTEMS} at least."
        )
    unrated = [clip for clip in test.clips if clip.rating is None]
    if unrated and not test.system_ratings:
        raise UsageError(f"{test.name}: {unrated[0].excerpt.file} has no rating.")
    for system in test.systems if test.system_ratings else ():
        if system not in test.system_ratings:
            raise UsageError(f"{test.name}: the system {system!r} has no rating.")
    if not test.references and all(clip.reference is None for clip in test.clips):
        raise UsageError(
            f"{test.name}: the system {test.systems[0]!r} has no reference; fill the column "
            f"reference, or give --reference FOLDER or --reference SYSTEM."
        )
    return test


def check_sounds(name: str, excerpts: Iterable[Excerpt]) -> None:
    """Refuse sounds that are not there, all at once."""
    missing = [e.file for e in dict.fromkeys(excerpts) if not e.file.is_file()]
    if missing:
        raise UsageError(f"{name}: {len(missing)} sounds are missing, as {missing[0]}.")
