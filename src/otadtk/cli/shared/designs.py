"""The options of floors, and the design of the permutations behind one."""

from __future__ import annotations

import argparse
import csv
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


def design_by_options(
    reference: EmbeddingSet,
    evaluated: EmbeddingSet,
    *,
    groups: Path | None,
    paired: str | None = None,
) -> tuple[Design | None, str]:
    """The design of the floor's permutations, and why it is not the free one or might not be."""
    from otadtk.evaluation.designs import choose_design

    if paired is not None and (reference.moments_only or evaluated.moments_only):
        raise UsageError("--paired needs the clips themselves, not their moments.")
    if paired is not None and paired != BY_NAME:
        return _pairs_of_file(Path(paired), reference, evaluated), ""
    known = known_groups(groups, reference, evaluated)
    return choose_design(reference, evaluated, groups=known, paired=paired is not None)


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
