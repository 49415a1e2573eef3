"""The general layout of a listening test: one row per clip, or one per clip and listener.

    file, system, item, reference, rating [, rater] [, start, end, reference_start, reference_end]

Only ``file``, ``system`` and ``rating`` must be there. A row without a file rates its system as a
whole. Single ratings come as one row per listener (column ``rater``), as columns ``rater_…``, or
as a list ``60;75;80`` in the column ``raters``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from otadtk.errors import UsageError
from otadtk.experiments.listening.layouts.csv_rows import (
    CsvRow,
    excerpt_of,
    finite,
    named_rows,
    rating_of,
    reference_of,
)
from otadtk.experiments.listening.sets import Excerpt, RatedClip, RatedSet

COLUMNS = ("file", "system")
_EACH = "rater_"


def is_general(header: list[str]) -> bool:
    """Whether a header is of this layout."""
    return set(COLUMNS) <= {name.lower() for name in header}


def read_general(path: Path, lines: list[list[str]]) -> RatedSet:
    """The test of a CSV in the general layout."""
    rows = named_rows(path, lines)
    columns = rows[0][1].keys()
    if not ({"rating", "raters"} & columns or any(name.startswith(_EACH) for name in columns)):
        raise UsageError(f"{path} has no ratings: it needs the column rating, or rater_1, rater_2.")
    found: dict[tuple[Excerpt, str, str], _Gathered] = {}
    systems: dict[str, _Gathered] = {}
    for number, row in rows:
        if not row["system"]:
            raise UsageError(f"{path}, row {number}: there is no system.")
        if row["file"]:
            excerpt, reference = (
                excerpt_of(path, number, row, "file"),
                reference_of(path, number, row),
            )
            item = row.get("item") or (reference or excerpt).file.stem
            clip = found.setdefault((excerpt, row["system"], item), _Gathered(reference))
            if clip.reference != reference:
                raise UsageError(f"{path}, row {number}: {row['file']} has two references.")
        else:
            clip = systems.setdefault(row["system"], _Gathered(None))
        clip.add(path, number, row)
    clips = tuple(
        RatedClip(excerpt, system, item, got.reference, got.mean(), got.by_rater())
        for (excerpt, system, item), got in found.items()
    )
    ratings = {system: got.as_wholes() for system, got in systems.items()}
    if ratings and any(clip.rating is not None for clip in clips):
        raise UsageError(
            f"{path} rates both clips and whole systems (rows without a file); keep one kind."
        )
    return RatedSet(path.stem, clips, system_ratings={s: r for s, r in ratings.items() if r})


@dataclass
class _Gathered:
    """The ratings of one clip or system as rows bring them."""

    reference: Excerpt | None
    values: list[float] = field(default_factory=list)
    """Ratings of nobody in particular."""
    raters: dict[str, list[float]] = field(default_factory=dict)
    stated: list[float] = field(default_factory=list)
    """Means that stand beside single ratings."""

    def add(self, path: Path, number: int, row: CsvRow) -> None:
        """Take what a row says."""
        rating = rating_of(path, number, row.get("rating", ""))
        single = {
            name: rating_of(path, number, cell)
            for name, cell in row.items()
            if name.startswith(_EACH)
        }
        listed = row.get("raters", "")
        if ";" in listed:  # a number alone says how many listeners there were
            cells = [cell for cell in listed.split(";") if cell.strip()]
            single = {f"{i}": finite(path, number, cell, "rating") for i, cell in enumerate(cells)}
        elif row.get("rater") and rating is not None:
            single, rating = {row["rater"]: rating}, None
        given = {rater: value for rater, value in single.items() if value is not None}
        for rater, value in given.items():
            self.raters.setdefault(rater, []).append(value)
        if rating is not None:
            (self.stated if given else self.values).append(rating)

    def by_rater(self) -> dict[str, float]:
        """The mean rating of each listener."""
        return {rater: fmean(values) for rater, values in self.raters.items()}

    def as_wholes(self) -> dict[str, float]:
        """Ratings by listener, or the mean in the name of all of them."""
        mean = self.mean()
        return self.by_rater() or ({} if mean is None else {"all": mean})

    def mean(self) -> float | None:
        """The mean rating: the stated one where a row states it beside single ratings."""
        values = self.stated or [*self.values, *self.by_rater().values()]
        return fmean(values) if values else None
