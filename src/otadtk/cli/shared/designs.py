"""Chooses which clips may change places for a floor: within pairs, within groups, or any."""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.shared.common_options import positive_int
from otadtk.cli.shared.metric_options import chosen_metrics
from otadtk.errors import UsageError
from otadtk.metrics.registry import get_metric

if TYPE_CHECKING:
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.verdicts import Groups
    from otadtk.statistics.designs import Design, Pairs

DEFAULT_NULL = 200
BY_NAME = "by name"
"""The value of --paired without a file."""
_SIMILAR = 1.5
"""The ratio up to which two numbers of clips are similar."""


def add_floor_options(group: argparse._ArgumentGroup) -> None:
    """``--null``, ``--no-null`` and ``--excess``."""
    group.add_argument(
        "--null",
        nargs="?",
        const=DEFAULT_NULL,
        type=positive_int,
        metavar="R",
        help="the floor (what two samples of one distribution score at this N and M) and a "
        f"p-value, by R permutations (default: {DEFAULT_NULL}; without the option up to 99, if that "
        "is quick)",
    )
    group.add_argument("--no-null", action="store_true", help="compute no floor")
    group.add_argument(
        "--excess",
        action="store_true",
        help="the excess of the score over that of samples of one distribution, by random halves",
    )


def check_floor_options(options: argparse.Namespace) -> None:
    """Refuse to compute a floor and to compute none, and one of metrics that have none."""
    if options.null is not None and options.no_null:
        raise UsageError("--null asks for a floor and --no-null for none; remove one of them.")
    chosen = [get_metric(name) for name in chosen_metrics(options)]
    if (options.null is not None or options.excess) and not any(m.has_floor for m in chosen):
        flag = "--null" if options.null is not None else "--excess"
        raise UsageError(
            f"{flag} does nothing for {chosen[0].name}: {chosen[0].why_no_floor}; take --ci instead."
        )


def refuse_excess_of_twins(designs: Mapping[str, Design | None]) -> None:
    """Refuse ``--excess`` of sets whose clips have twins on the other side."""
    twins = [
        name for name, design in designs.items() if design is not None and design.name == "pairs"
    ]
    if twins:
        raise UsageError(
            f"--excess compares halves of the sets, but most clips of {', '.join(twins)} have a twin "
            "in the reference; remove it."
        )


def choose_design(
    reference: EmbeddingSet,
    evaluated: EmbeddingSet,
    *,
    groups: Path | None,
    paired: str | None = None,
) -> tuple[Design | None, str]:
    """The design of the floor's permutations, and why it is not the free one or might not be."""
    from otadtk.evaluation.pairs import noticed_twins, pairs_by_name, pairs_of_manifests
    from otadtk.statistics.designs import Strata

    if reference.moments_only or evaluated.moments_only:
        if paired is not None:
            raise UsageError("--paired needs the clips themselves, not their moments.")
        return None, ""
    if paired == BY_NAME:
        return pairs_by_name(reference, evaluated), ""
    if paired is not None:
        return _pairs_of_file(Path(paired), reference, evaluated), ""
    known = known_groups(groups, reference, evaluated) or _folders(reference, evaluated)
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
    return None, _remark_on_names(reference, evaluated)


def known_groups(
    groups: Path | None, reference: EmbeddingSet, evaluated: EmbeddingSet
) -> Groups | None:
    """The groups of --groups or of the manifests, if they name those of all clips of both sides."""
    from otadtk.report.user_csv import known_groupings

    if reference.moments_only or evaluated.moments_only:
        return None
    for grouping in known_groupings(groups, evaluated, reference)[:1]:
        return (grouping.reference, grouping.evaluated) if grouping.reference else None
    return None


def _folders(reference: EmbeddingSet, evaluated: EmbeddingSet) -> Groups | None:
    """The subfolders of the clips, if both sides have the same ones, two at least."""
    from otadtk.report.user_csv import groups_by_folder

    for grouping in groups_by_folder(evaluated.files, reference.files):
        own, other = set(grouping.reference), set(grouping.evaluated)
        if own == other and len(own) > 1 and len(own) < len(reference.files):
            return grouping.reference, grouping.evaluated
    return None


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
