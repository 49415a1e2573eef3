"""The systems of a comparison: folders, or the column ``system`` of a manifest; and their pairs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.audio.inputs import Clip
    from otadtk.embed import EmbeddingSet, Source

logger = logging.getLogger(__name__)


def systems_of(path: Path) -> dict[str, Source]:
    """The clips of every system that a manifest tells apart; else the path itself as one system."""
    from otadtk.audio.inputs import find_clips, may_have_columns

    found = find_clips(path) if may_have_columns(path) else None
    if not any("system" in clip.columns for clip in found or ()):
        return {str(path): path}
    systems: dict[str, list[Clip]] = {}
    for clip in found or ():
        if "system" not in clip.columns:
            raise UsageError(f"{path} names no system for {clip.name}.")
        systems.setdefault(clip.columns["system"], []).append(clip)
    return dict(systems)


def in_order_of_pairs(
    sets: Mapping[str, list[EmbeddingSet]],
) -> dict[str, list[EmbeddingSet]]:
    """The sets with their clips in the same order of pairs, if manifests name pairs of them all."""
    keys = {name: found[0].column("pair") for name, found in sets.items()}
    if not all(keys.values()):
        return dict(sets)
    first, order = next(iter(keys.items()))
    ordered: dict[str, list[EmbeddingSet]] = {}
    for name, found in sets.items():
        place = {key: k for k, key in enumerate(keys[name])}
        if len(place) < len(keys[name]):
            raise UsageError(f"--paired: two clips of {name} have the same pair.")
        if set(place) != set(order):
            odd = sorted(set(place) ^ set(order))[0]
            raise UsageError(f"--paired: {first} and {name} do not both have the pair {odd!r}.")
        ordered[name] = [side.take([place[key] for key in order]) for side in found]
    return ordered


def named_pairs(sets: Mapping[str, EmbeddingSet]) -> bool:
    """Whether manifests name the same pairs of all systems, each once; a line says so."""
    keys = [side.column("pair") for side in sets.values()]
    once = all(keys) and all(keys[0]) and len(set(keys[0])) == len(keys[0])
    if not once or any(sorted(other) != sorted(keys[0]) for other in keys[1:]):
        return False
    logger.info("the manifests name %d pairs, so the systems are compared by pairs", len(keys[0]))
    return True


def suggest_pairs(sets: Mapping[str, EmbeddingSet]) -> None:
    """Say that --paired may fit, where all systems have clips of the same names."""
    from otadtk.metrics.pairing import names_below

    if any(side.moments_only for side in sets.values()):
        return
    names = [names_below(side.files) for side in sets.values()]
    if all(sorted(other) == sorted(names[0]) for other in names[1:]) and len(names[0]) > 1:
        logger.info(
            "all systems have clips of the same %d names: if these belong together, as for the same "
            "prompts, --paired gives narrower intervals",
            len(names[0]),
        )
