"""Rows of results: written to CSV, read back, and selected for tables and figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.files.atomic import replacing

Value = str | int | float
Row = dict[str, Value]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV atomically; floats get six significant digits."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: printed(value) for name, value in row.items()})
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV with numbers parsed; empty cells are left out."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {name: _parsed(cell) for name, cell in row.items() if cell not in ("", None)}
            for row in csv.DictReader(file)
        ]


def printed(value: Value) -> str:
    """A value as written to the CSV."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _parsed(cell: str) -> Value:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def select(rows: Iterable[Row], **wanted: Value) -> list[Row]:
    """The rows whose columns have the wanted values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def column(rows: Iterable[Row], name: str) -> NDArray[np.float64]:
    """A column as numbers; rows without it are skipped."""
    return np.array([float(row[name]) for row in rows if name in row], dtype=np.float64)


def distinct(rows: Iterable[Row], name: str) -> list[Value]:
    """The distinct values of a column, in the order of first appearance."""
    return list(dict.fromkeys(row[name] for row in rows if name in row))


def distinct_pairs(rows: Sequence[Row], first: str, second: str) -> list[tuple[Value, Value]]:
    """The distinct pairs of values of two columns, grouped by the first."""
    return [
        (one, other)
        for one in distinct(rows, first)
        for other in distinct(select(rows, **{first: one}), second)
    ]
