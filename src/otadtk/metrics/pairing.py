"""Reads tables of clips: which of two sets belong together, and what a CSV says of each clip."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import UsageError
from otadtk.metrics.entry import some_of

if TYPE_CHECKING:
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import PathLike

PAIRED = ("reference", "evaluated")
"""The columns of a table of pairs."""


@dataclass(frozen=True)
class Pairing:
    """The k-th of ``reference`` belongs to the k-th of ``evaluated``; places in their sets."""

    reference: tuple[int, ...]
    evaluated: tuple[int, ...]
    alone: tuple[int, ...]
    """Evaluated clips without a partner."""


def pair_sets(
    metric: str,
    reference: EmbeddingSet,
    evaluated: EmbeddingSet,
    table: PathLike | None,
    flag: str,
) -> Pairing:
    """The pairs of two sets, in the order of the evaluated clips; a UsageError without any."""
    if table is not None:
        found = _by_table(Path(table), reference.files, evaluated.files)
    else:
        found = _by_key(*pair_keys(reference, evaluated))
    if not found:
        raise UsageError(
            f"{metric} compares clips that belong together, and no names of the two sets are equal: "
            f"name them alike, or say which belong together with {flag} CSV."
        )
    alone = tuple(j for j in range(len(evaluated.files)) if j not in found)
    places = sorted(found)
    return Pairing(tuple(found[j] for j in places), tuple(places), alone)


def pair_keys(reference: EmbeddingSet, evaluated: EmbeddingSet) -> tuple[list[str], list[str]]:
    """What clips that belong together have in common, for each clip of both sides; "" for nothing.

    That is the column ``pair`` of the manifests if both sides have it, or else the name below the
    folder of each side.
    """
    known = reference.column("pair"), evaluated.column("pair")
    if known[0] and known[1]:
        return list(known[0]), list(known[1])
    return names_below(reference.files), names_below(evaluated.files)


def _by_key(reference: Sequence[str], evaluated: Sequence[str]) -> dict[int, int]:
    """The reference clip of each evaluated one with the same key."""
    for side, title in ((reference, "reference"), (evaluated, "evaluated")):
        name, times = Counter(key for key in side if key).most_common(1)[0]
        if times > 1:
            raise UsageError(f"{times} {title} clips have the name {name!r}: pairs are unclear.")
    place = {name: i for i, name in enumerate(reference) if name}
    return {j: place[name] for j, name in enumerate(evaluated) if name in place}


def names_below(files: Sequence[Path]) -> list[str]:
    """The stems below the folder that the clips share: formats may differ."""
    parents = [file.parent.parts for file in files]
    shared = 0
    while all(len(p) > shared and p[shared] == parents[0][shared] for p in parents):
        shared += 1
    return ["/".join((*p[shared:], f.stem)) for f, p in zip(files, parents, strict=True)]


def _by_table(path: Path, reference: Sequence[Path], evaluated: Sequence[Path]) -> dict[int, int]:
    """The reference clip of each evaluated one, by a CSV of reference,evaluated with titles."""
    found: dict[int, int] = {}
    for number, line in read_rows(path, PAIRED):
        i = place_of(line["reference"], reference, f"{path}, line {number}", "reference")
        j = place_of(line["evaluated"], evaluated, f"{path}, line {number}", "evaluated")
        found[j] = i
    return found


def read_rows(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """(line number, cells by column) of a CSV with these titles among its own."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(f"{path} has no column {missing[0]!r} in its first line.")
            return [
                (reader.line_num, {name: row[name] or "" for name in columns}) for row in reader
            ]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} is no CSV file in UTF-8: {error}.") from error


def read_column(path: Path, column: str, files: Sequence[Path]) -> list[str]:
    """What a CSV of file and ``column`` says of each clip, in order."""
    by_name: dict[str, str] = {}
    for number, row in read_rows(path, ("file", column)):
        if not row[column].strip():
            raise UsageError(f"{path}, line {number}: the {column} is empty.")
        if row["file"] in by_name:
            raise UsageError(f"{path}, line {number}: {row['file']} comes twice.")
        by_name[row["file"]] = row[column]
    found = [
        next((by_name[name] for name in _names(file) if name in by_name), None) for file in files
    ]
    missing = [str(file) for file, text in zip(files, found, strict=True) if text is None]
    if missing:
        raise UsageError(f"{path} has no {column} for {some_of(missing)}.")
    return [text for text in found if text is not None]


def _names(file: Path) -> list[str]:
    """What a table may call a file: its path or any end of it, its name, its stem."""
    parts = file.parts
    return [str(file), *("/".join(parts[k:]) for k in range(1, len(parts))), file.stem]


def place_of(name: str, files: Sequence[Path], where: str, title: str) -> int:
    """The place of the one file of that name, or path, or end of a path."""
    found = [
        k
        for k, file in enumerate(files)
        if name in (str(file), file.name, file.stem) or str(file).endswith(f"/{name}")
    ]
    if len(found) != 1:
        what = "is not among" if not found else f"could be {len(found)} of"
        raise UsageError(f"{where} names {name!r}, which {what} the {title} clips.")
    return found[0]
