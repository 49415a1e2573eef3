"""The ceiling that the listeners of a test allow, at each level at which it has single ratings."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from otadtk.experiments.listening.levels import APART, CLIP, PAIRED
from otadtk.experiments.listening.reliability import Reliability, ratings_table, reliability
from otadtk.experiments.listening.sets import RatedClip, RatedSet


def ceilings(test: RatedSet, seed: int = 0) -> dict[str, Reliability]:
    """The reliability of listeners over systems with twins, over all systems, and over clips.

    Hidden references count only where a metric is asked about them: among systems without twins.
    """
    twins = [c for c in test.clips if c.reference is not None and not c.hidden]
    tables = {
        PAIRED: _by_system(test, twins),
        APART: _by_system(test, test.clips),
        CLIP: [clip.ratings for clip in twins],
    }
    found = {level: reliability(ratings_table(t), seed=seed) for level, t in tables.items()}
    return {level: value for level, value in found.items() if value is not None}


def _by_system(
    test: RatedSet, clips: list[RatedClip] | tuple[RatedClip, ...]
) -> list[Mapping[str, float]]:
    """The mean rating of each listener for each system."""
    if test.system_ratings:
        present = {clip.system for clip in clips}
        return [given for system, given in test.system_ratings.items() if system in present]
    gathered: dict[str, dict[str, list[float]]] = {}
    for clip in clips:
        own = gathered.setdefault(clip.system, {})
        for rater, value in clip.ratings.items():
            own.setdefault(rater, []).append(value)
    return [{r: fmean(values) for r, values in own.items()} for own in gathered.values()]
