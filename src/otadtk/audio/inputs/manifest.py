"""Tables with a row for each clip, CSV or JSONL, and lists with a file in each line."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from otadtk.audio.excerpt import Excerpt
from otadtk.audio.inputs.clip import COLUMNS, Clip, excerpt_name
from otadtk.errors import AudioError
from otadtk.files.remote import absolute, as_path, is_remote, read_bytes, url_of

logger = logging.getLogger(__name__)

MANIFEST_SUFFIXES = frozenset({".csv", ".tsv", ".jsonl", ".ndjson"})
TIMES = ("start", "end")
_FILE = "file"

Row = tuple[int, Mapping[str, Any]]
"""The number of a line, and its values by column."""


def read_manifest(path: Path) -> list[Clip]:
    """The clips of a CSV or JSONL in the order of its rows."""
    text = _text(path)
    rows = _csv_rows if path.suffix.lower() in (".csv", ".tsv") else _json_rows
    clips = [_clip(path, number, row) for number, row in rows(path, text)]
    if not clips:
        raise AudioError(f"{url_of(path)} lists no clips.")
    return clips


def read_list(path: Path) -> list[Path]:
    """The files that a list names, one in each line."""
    lines = [line.strip() for line in _text(path).splitlines()]
    found = [_placed(line, path) for line in lines if line]
    if not found:
        raise AudioError(f"{url_of(path)} lists no files.")
    return found


def facts_of(row: Mapping[str, Any], where: str) -> dict[str, str]:
    """What a row says of its clip by ``COLUMNS``; empty values are left out."""
    return {name: value for name in COLUMNS if (value := _words(row.get(name), name, where))}


def excerpt_of(row: Mapping[str, Any], where: str) -> Excerpt:
    """The part of the file that a row names by ``start`` and ``end`` in seconds."""
    start, end = (_seconds(row.get(name), name, where) for name in TIMES)
    excerpt = Excerpt(start or 0.0, end)
    if end is not None and end <= excerpt.start:
        raise AudioError(f"{where}: the end, {end:g} s, is not after the start, {start or 0:g} s.")
    return excerpt


def _clip(path: Path, number: int, row: Mapping[str, Any]) -> Clip:
    where = f"{url_of(path)}, line {number}"
    name = row.get(_FILE)
    if not isinstance(name, str) or not name.strip():
        raise AudioError(f"{where}: {_FILE!r} must be the path of an audio file, not {name!r}.")
    file, excerpt = _placed(name.strip(), path), excerpt_of(row, where)
    columns = facts_of(row, where)
    return Clip(excerpt_name(file, excerpt), absolute(file), None, excerpt, columns)


def _placed(name: str, table: Path) -> Path:
    """The path that a table names: a relative one beside the table, or else in the working folder."""
    if "\0" in name:
        raise AudioError(f"{url_of(table)} names {name!r}; no name of a file has a NUL byte.")
    file = as_path(name)
    if is_remote(file) or file.is_absolute():
        return file
    beside = table.parent / file
    return file if not is_remote(table) and not beside.exists() and file.exists() else beside


def _text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise AudioError(f"{url_of(path)} cannot be read: {error.strerror}.") from error


def _csv_rows(path: Path, text: str) -> Iterator[Row]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey=None)
    try:
        titles = [title.strip() for title in reader.fieldnames or ()]
        reader.fieldnames = titles
        _check_titles(path, titles)
        for row in reader:
            if None in row or None in row.values():
                count = sum(value is not None for value in row.values())
                count += len(row.get(None, ())) - (None in row)
                raise AudioError(
                    f"{url_of(path)}, line {reader.line_num}: {count} values for {len(titles)} columns."
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise AudioError(f"{url_of(path)}, line {reader.line_num}: {error}.") from error


def _json_rows(path: Path, text: str) -> Iterator[Row]:
    checked = False
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise AudioError(f"{url_of(path)}, line {number} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise AudioError(f"{url_of(path)}, line {number} is not a JSON object.")
        if not checked:
            _check_titles(path, list(row))
        checked = True
        yield number, row


def _check_titles(path: Path, titles: list[str]) -> None:
    if _FILE not in titles:
        listed = ", ".join(titles) or "none"
        raise AudioError(f"{url_of(path)} has no column {_FILE!r}; it has: {listed}.")
    unused = [title for title in titles if title not in (_FILE, *TIMES, *COLUMNS)]
    if unused:
        logger.info("%s: not used are its columns %s", url_of(path), ", ".join(unused))


def _words(value: Any, name: str, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, dict)):
        kind = "a list" if isinstance(value, list) else "an object"
        raise AudioError(f"{where}: {name!r} must be text or a number, not {kind}.")
    return str(value).strip()


def _seconds(value: Any, name: str, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < 1e9:
        raise AudioError(f"{where}: {name!r} must be seconds, 0 or more, not {value!r}.")
    return number
