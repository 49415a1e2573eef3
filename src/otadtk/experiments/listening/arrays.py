"""A rated test as arrays over its clips, and what may be compared with what."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from otadtk.experiments.listening.sets import Excerpt, Numbers, RatedSet

Indices = NDArray[np.int64]
_NONE = -1


class Arrays:
    """The clips of a test by number: their rows in the pool of sounds, systems, items, ratings."""

    def __init__(self, test: RatedSet) -> None:
        rows: dict[Excerpt, int] = {}
        for excerpt in test.excerpts():
            rows.setdefault(excerpt, len(rows))
        systems = {name: number for number, name in enumerate(test.systems)}
        items = {name: number for number, name in enumerate(test.items)}
        self.pool = tuple(rows)
        """Every sound of the test once."""
        self.systems, self.items = test.systems, test.items
        clips = test.clips
        self.rows = np.array([rows[c.excerpt] for c in clips])
        self.twins = np.array([_NONE if c.reference is None else rows[c.reference] for c in clips])
        self.system = np.array([systems[c.system] for c in clips])
        self.item = np.array([items[c.item] for c in clips])
        self.rating = np.array([math.nan if c.rating is None else c.rating for c in clips])
        self.paired = (self.twins != _NONE) & ~np.array([c.hidden for c in clips])
        """Clips with a twin that is not the clip itself: a distance of 0 by construction is none."""
        of_systems = [test.system_ratings.get(name, {}) for name in test.systems]
        self._of_system = np.array(
            [
                math.nan if not given else float(np.mean(list(given.values())))
                for given in of_systems
            ]
        )
        owned = {(t, i) for t, i in zip(self.twins, self.item, strict=True) if t != _NONE}
        others = {(rows[excerpt], _NONE) for excerpt in test.references}
        pairs = np.array(sorted(owned | others))
        self._reference_rows, self._reference_items = pairs[:, 0], pairs[:, 1]

    @property
    def rates_clips(self) -> bool:
        """Whether clips have ratings, rather than systems as wholes."""
        return bool(np.isfinite(self.rating).any())

    @property
    def twinless(self) -> bool:
        """Whether no clip has a reference of its own."""
        return bool((self.twins == _NONE).all())

    def clips_of(self, system: int, counts: Indices) -> Indices:
        """The clips of a system, each as often as its item counts."""
        own = np.flatnonzero(self.system == system)
        return np.repeat(own, counts[self.item[own]])

    def strangers(self, clips: Indices, counts: Indices) -> Indices:
        """Rows of references that belong to no item and no twin of these clips.

        References of an item come as often as it counts; those without an item come once.
        """
        items, twins = np.unique(self.item[clips]), np.unique(self.twins[clips])
        rows, owners = self._reference_rows, self._reference_items
        free = ~np.isin(owners, items) & ~np.isin(rows, twins)
        times = np.where(owners == _NONE, 1, counts[owners])
        return np.repeat(rows[free], times[free])

    def system_ratings(self, counts: Indices) -> Numbers:
        """The rating of every system over items that count so often; NaN where it has none."""
        if not self.rates_clips:
            return self._of_system
        found = np.full(len(self.systems), math.nan)
        for system in range(len(self.systems)):
            clips = self.clips_of(system, counts)
            if len(clips):
                found[system] = float(self.rating[clips].mean())
        return found
