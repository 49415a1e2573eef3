"""Chooses which clips may change places for a floor: within pairs, within groups, or any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.pairs import noticed_twins, pairs_by_name, pairs_of_manifests
from otadtk.files.names import first_folders
from otadtk.metrics.verdicts import Groups
from otadtk.statistics.designs import Design, Free, Strata

_SIMILAR = 1.5
"""The ratio up to which two numbers of clips are similar."""


def choose_design(
    reference: EmbeddingSet,
    evaluated: EmbeddingSet,
    *,
    groups: Groups | None = None,
    paired: bool = False,
) -> tuple[Design | None, str]:
    """The design of the floor's permutations, and why it is not the free one or might not be.

    Commands and the Python API ask here, so both permute alike: partners of equal names if the clips
    are ``paired``, within given groups, those of the manifests or common subfolders, within pairs
    of the manifests or twins that are noticed, else freely. There is no design of sets whose clips
    are not known.
    """
    if reference.moments_only or evaluated.moments_only:
        if paired:
            raise UsageError("Pairs need the clips themselves, not their moments.")
        return None, ""
    if paired:
        return pairs_by_name(reference, evaluated), ""
    known = groups or groups_of_manifests(reference, evaluated) or _folders(reference, evaluated)
    named = pairs_of_manifests(reference, evaluated)
    if known is not None:
        hint = "the manifests name pairs too: --paired uses these" if named is not None else ""
        return Strata((*known[0], *known[1])), hint
    if named is not None:
        return named, (
            f"the manifests pair {len(named.pairs)} clips: the floor swaps partners only; --paired "
            f"adds their distance"
        )
    twins = noticed_twins(reference, evaluated)
    if twins is not None:
        return twins, (
            f"{len(twins.pairs)} evaluated clips have a twin in the reference: the floor swaps "
            f"twins only, because free permutations would part them"
        )
    clips = len(reference.files) + len(evaluated.files)
    return Free(clips), _remark_on_names(reference, evaluated)


def groups_of_manifests(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Groups | None:
    """The groups by the column ``group``, if it names one for every clip of both sides."""
    groups = reference.column("group"), evaluated.column("group")
    return groups if all(side and all(side) for side in groups) else None


def refuse_excess_of_twins(designs: Mapping[str, Design | None]) -> None:
    """Refuse the excess of sets whose clips have twins on the other side."""
    twins = [
        name for name, design in designs.items() if design is not None and design.name == "pairs"
    ]
    if twins:
        raise UsageError(
            f"The excess compares halves of the sets, but most clips of {', '.join(twins)} have a twin "
            "in the reference; leave it out."
        )


def _folders(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Groups | None:
    """The subfolders of the clips, if both sides have the same ones, two at least."""
    own, other = first_folders(reference.files), first_folders(evaluated.files)
    names = set(own)
    alike = names == set(other) and 1 < len(names) < len(own)
    return (own, other) if alike else None


def _remark_on_names(reference: EmbeddingSet, evaluated: EmbeddingSet) -> str:
    """A remark where both sides seem to hold the same groups in similar numbers."""
    own, other = (
        Counter(re.sub(r"[\W\d_]+$", "", file.stem) for file in side.files)
        for side in (reference, evaluated)
    )
    if own.keys() != other.keys() or len(own) < 2 or min(own.values()) < 2:
        return ""
    if any(max(own[k], other[k]) > _SIMILAR * min(own[k], other[k]) for k in own):
        return ""
    return (
        f"both sides hold the same {len(own)} groups by name in similar numbers "
        f"({', '.join(sorted(own)[:3])}, …): if that is by design, --groups or subfolders give a "
        f"floor that keeps it"
    )
