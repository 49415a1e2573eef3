"""Designs of a permutation test: which clips may change places if the two sets are alike.

A design gives orders of the pool, in which the n reference clips come first. A permutation test is
exact if its design only makes exchanges that the way the clips were collected allows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError

IndexArray = NDArray[np.intp]


class Design(ABC):
    """Draws random orders of a pool."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As it is printed and recorded."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> IndexArray:
        """A random order of the pool."""


@dataclass(frozen=True)
class Free(Design):
    """Every clip may take the place of every other."""

    clips: int

    @property
    def name(self) -> str:
        """Free permutation."""
        return "free"

    def draw(self, rng: np.random.Generator) -> IndexArray:
        """A permutation of all clips."""
        return rng.permutation(self.clips)


@dataclass(frozen=True)
class Strata(Design):
    """Clips change places within their group, so that both sides keep their groups' numbers."""

    groups: tuple[str, ...]
    """The group of every clip of the pool."""

    def __post_init__(self) -> None:
        if len(set(self.groups)) == len(self.groups):
            raise UsageError("Permutations within groups need groups of more than one clip.")

    @property
    def name(self) -> str:
        """Within groups."""
        return "strata"

    def draw(self, rng: np.random.Generator) -> IndexArray:
        """A permutation within every group."""
        order = np.arange(len(self.groups))
        groups = np.asarray(self.groups, dtype=object)
        for group in sorted(set(self.groups)):
            places = np.flatnonzero(groups == group)
            order[places] = rng.permutation(places)
        return order


@dataclass(frozen=True)
class Pairs(Design):
    """A reference clip and its evaluated partner may change places; others stay on their side."""

    clips: int
    """Of the whole pool."""
    pairs: tuple[tuple[int, int], ...]
    """Places in the pool: of the reference clip and of its partner."""

    def __post_init__(self) -> None:
        if not self.pairs:
            raise UsageError("Swaps within pairs need pairs, and no clips are paired.")
        places = [place for pair in self.pairs for place in pair]
        if len(set(places)) < len(places):
            raise UsageError("A clip belongs to one pair only.")

    @property
    def name(self) -> str:
        """Within pairs."""
        return "pairs"

    def draw(self, rng: np.random.Generator) -> IndexArray:
        """Each pair swapped or not, with equal probability."""
        order = np.arange(self.clips)
        first, second = np.asarray(self.pairs).T
        swapped = rng.random(len(self.pairs)) < 0.5
        order[first[swapped]], order[second[swapped]] = second[swapped], first[swapped]
        return order


def pair_by_name(reference: Sequence[str], evaluated: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Places in the pool of reference and evaluated clips of equal names, which must be unique.

    Clips without a name are in no pair.
    """
    for side, names in (("reference", reference), ("evaluated", evaluated)):
        twice = [name for name, times in Counter(names).items() if name and times > 1]
        if twice:
            raise UsageError(f"Pairs by name need unique names; the {side} has {twice[0]} twice.")
    places = {name: i for i, name in enumerate(reference) if name}
    n = len(reference)
    return tuple((places[name], n + j) for j, name in enumerate(evaluated) if name in places)
