"""Chooses which clips may change places for a floor: within pairs, within groups, or any."""

from __future__ import annotations

import argparse
import csv
import logging
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.verdicts import Groups
    from otadtk.statistics.designs import Design, Pairs

logger = logging.getLogger(__name__)

BY_NAME = "by name"
"""The value of --paired without a file."""
_SIMILAR = 1.5
"""The ratio up to which two numbers of clips are similar."""


def choose_design(
    options: argparse.Namespace, reference: EmbeddingSet, evaluated: EmbeddingSet
) -> Design | None:
    """The design of the floor's permutations; a line says why it is not the free one."""
    from otadtk.evaluation.pairs import noticed_twins, pairs_by_name
    from otadtk.statistics.designs import Strata

    if reference.moments_only or evaluated.moments_only:
        if options.paired is not None:
            raise UsageError("--paired needs the clips themselves, not their moments.")
        return None
    if options.paired == BY_NAME:
        return pairs_by_name(reference, evaluated)
    if options.paired is not None:
        return _pairs_of_file(Path(options.paired), reference, evaluated)
    groups = known_groups(options, reference, evaluated) or _folders(reference, evaluated)
    if groups is not None:
        return Strata((*groups[0], *groups[1]))
    twins = noticed_twins(reference, evaluated)
    if twins is not None:
        logger.info(
            "%d evaluated clips have a twin of the same name in the reference: the floor swaps "
            "twins only, because free permutations would part them; --paired adds their distance",
            len(twins.pairs),
        )
        return twins
    _remark_on_names(reference, evaluated)
    return None


def known_groups(
    options: argparse.Namespace, reference: EmbeddingSet, evaluated: EmbeddingSet
) -> Groups | None:
    """The groups of --groups, if it names those of all clips of both sides."""
    from otadtk.report.user_csv import read_groups

    if options.groups is None or reference.moments_only:
        return None
    grouping = read_groups(options.groups, evaluated.files, reference.files)[0]
    return (grouping.reference, grouping.evaluated) if grouping.reference else None


def _folders(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Groups | None:
    """The subfolders of the clips, if both sides have the same ones, two at least."""
    from otadtk.report.user_csv import groups_by_folder

    for grouping in groups_by_folder(evaluated.files, reference.files):
        own, other = set(grouping.reference), set(grouping.evaluated)
        if own == other and len(own) > 1 and len(own) < len(reference.files):
            return grouping.reference, grouping.evaluated
    return None


def _remark_on_names(reference: EmbeddingSet, evaluated: EmbeddingSet) -> None:
    """A note where both sides seem to hold the same groups in similar numbers."""
    own, other = (
        Counter(re.sub(r"[\W\d_]+$", "", file.stem) for file in side.files)
        for side in (reference, evaluated)
    )
    if own.keys() != other.keys() or len(own) < 2 or min(own.values()) < 2:
        return
    if all(max(own[k], other[k]) <= _SIMILAR * min(own[k], other[k]) for k in own):
        logger.info(
            "both sides hold the same %d groups by name in similar numbers (%s, …): if that is by "
            "design, --groups or subfolders give a floor that keeps it",
            len(own),
            ", ".join(sorted(own)[:3]),
        )


def _pairs_of_file(path: Path, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Pairs:
    """The pairs of a CSV of reference,evaluated with a line of titles."""
    from otadtk.statistics.designs import Pairs

    try:
        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            lines = [line for line in csv.reader(file) if line][1:]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    n = len(reference.files)
    pairs = []
    for number, line in enumerate(lines, start=2):
        if len(line) != 2:
            raise UsageError(f"{path}, line {number}: {len(line)} values, not 2.")
        i = _place(path, line[0], reference, "reference")
        pairs.append((i, n + _place(path, line[1], evaluated, "evaluated")))
    return Pairs(n + len(evaluated.files), tuple(pairs))


def _place(path: Path, name: str, side: EmbeddingSet, title: str) -> int:
    found = [
        k
        for k, file in enumerate(side.files)
        if name in (str(file), file.name) or str(file).endswith("/" + name)
    ]
    if len(found) != 1:
        what = "is not among" if not found else f"could be {len(found)} of"
        raise UsageError(f"{path} names {name}, which {what} the {title} clips.")
    return found[0]
