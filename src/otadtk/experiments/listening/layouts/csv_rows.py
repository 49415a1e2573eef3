"""Reads CSV files of listening tests: rows, numbers, excerpts, each error with its line."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping
from pathlib import Path

from otadtk.errors import UsageError
from otadtk.experiments.listening.sets import Excerpt

NO_ANSWER = frozenset({"", "na", "nan", "n/a", "none"})
"""Cells in which a listener gave no rating."""
_REFERENCE_TIMES = ("reference_start", "reference_end")

CsvRow = Mapping[str, str]


def read_lines(path: Path) -> list[list[str]]:
    """The cells of a CSV or of a text table (tabs, blanks or semicolons), without empty lines."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise UsageError(f"{path} is empty.")
    if "," in lines[0]:
        return [[cell.strip() for cell in row] for row in csv.reader(lines)]
    mark = next((mark for mark in ("\t", ";") if mark in lines[0]), None)
    return [[cell.strip() for cell in line.rstrip("\t; ").split(mark)] for line in lines]


def named_rows(path: Path, lines: list[list[str]]) -> list[tuple[int, dict[str, str]]]:
    """(number of the row, its cells by column) below the header; short rows are filled up."""
    header = [name.lower() for name in lines[0]]
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise UsageError(f"{path} has the column {twice[0]!r} twice.")
    rows = []
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) > len(header):
            raise UsageError(f"{path}, row {number}: {len(cells)} cells for {len(header)} columns.")
        filled = cells + [""] * (len(header) - len(cells))
        rows.append((number, dict(zip(header, filled, strict=True))))
    if not rows:
        raise UsageError(f"{path} has a header and no row.")
    return rows


def rating_of(path: Path, number: int, text: str) -> float | None:
    """A rating; ``None`` where the cell says that there is none."""
    return None if text.strip().lower() in NO_ANSWER else finite(path, number, text, "rating")


def finite(path: Path, number: int, text: str, what: str) -> float:
    """A finite number of a cell."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{path}, row {number}: the {what} {text!r} is not a number.")
    return value


def excerpt_of(
    path: Path, number: int, row: CsvRow, name: str, *, start: str = "start", end: str = "end"
) -> Excerpt:
    """The sound of a row: its path is relative to the CSV's folder, its times are in seconds."""
    times = [finite(path, number, row[key], key) if row.get(key) else None for key in (start, end)]
    first, last = times
    if (first is not None and first < 0) or (last is not None and last <= (first or 0.0)):
        raise UsageError(
            f"{path}, row {number}: the excerpt from {first} s to {last} s is empty; {end} must "
            f"lie behind {start}, and {start} must not be negative."
        )
    return Excerpt(Path(os.path.normpath(path.parent / row[name])), first, last)


def reference_of(path: Path, number: int, row: CsvRow) -> Excerpt | None:
    """The twin of a row's clip; without times of its own it is cut as the clip is."""
    if not row.get("reference"):
        return None
    own = any(name in row for name in _REFERENCE_TIMES)
    start, end = _REFERENCE_TIMES if own else ("start", "end")
    return excerpt_of(path, number, row, "reference", start=start, end=end)
