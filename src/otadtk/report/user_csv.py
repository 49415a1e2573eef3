"""Reads the user's CSV files: which clips are known to be bad, and which group each belongs to."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.files.names import clips_by_name, common_root, first_folders

_CLEAN = frozenset({"", "0", "false", "no", "none", "clean", "good", "ok"})


@dataclass(frozen=True)
class Grouping:
    """One way to group the clips: its title, and the group of every clip."""

    title: str
    evaluated: tuple[str, ...]
    reference: tuple[str, ...]
    """Empty if the groups of the reference clips are not known."""


def read_labels(path: Path, files: Sequence[Path]) -> tuple[str, ...]:
    """The kind of fault of every clip, "" for none, from a CSV of ``file,label``.

    Labels such as 0, no or clean mark a good clip; clips that are not listed are good too.
    """
    columns = _read(path)
    if len(columns.titles) < 2:
        raise UsageError(f"{path} needs two columns: the file and its label.")
    found = _match(columns, files, must_exist=True)
    labels = tuple(found[i][0] if i in found else "" for i in range(len(files)))
    labels = tuple("" if clean(label) else label for label in labels)
    bad = sum(label != "" for label in labels)
    if bad in (0, len(labels)):
        raise UsageError(
            f"{path} marks {bad} of {len(labels)} evaluated clips as bad; some must be, not all."
        )
    return labels


def read_groups(path: Path, evaluated: Sequence[Path], reference: Sequence[Path]) -> list[Grouping]:
    """A grouping for every column after the first, which names the file.

    The CSV may list reference clips too. If it lists all of them, each group is scored against
    the reference clips of the same group.
    """
    columns = _read(path)
    if len(columns.titles) < 2:
        raise UsageError(f"{path} needs a column with the file and at least one with its group.")
    of_evaluated = _match(columns, evaluated, must_exist=False)
    of_reference = _match(columns, reference, must_exist=False)
    missing = [i for i in range(len(evaluated)) if i not in of_evaluated]
    if missing:
        raise UsageError(
            f"{path} has no group for {len(missing)} evaluated clips, "
            f"{evaluated[missing[0]]} among them."
        )
    complete = len(of_reference) == len(reference)
    return [
        Grouping(
            title,
            tuple(of_evaluated[i][k] or "(none)" for i in range(len(evaluated))),
            tuple(of_reference[i][k] for i in range(len(reference))) if complete else (),
        )
        for k, title in enumerate(columns.titles[1:])
    ]


def find_groupings(
    table: str | Path | None, evaluated: EmbeddingSet, reference: EmbeddingSet
) -> list[Grouping]:
    """The groupings of a CSV file, or of the manifests of the clips, or else by folder."""
    found = known_groupings(table, evaluated, reference)
    return found or groups_by_folder(evaluated.files, reference.files)


def known_groupings(
    table: str | Path | None, evaluated: EmbeddingSet, reference: EmbeddingSet
) -> list[Grouping]:
    """The groupings of a CSV file, or without one of the column ``group`` of the manifests."""
    if table is not None:
        return read_groups(Path(table), evaluated.files, reference.files)
    groups, others = evaluated.column("group"), reference.column("group")
    if not groups:
        return []
    named = tuple(group or "(none)" for group in groups)
    return [Grouping("group", named, others if all(others) else ())]


def find_labels(table: str | Path | None, evaluated: EmbeddingSet) -> tuple[str, ...]:
    """The kind of fault of every clip by a CSV file or the column ``label``; empty without either."""
    if table is not None:
        return read_labels(Path(table), evaluated.files)
    labels = tuple("" if clean(label) else label for label in evaluated.column("label"))
    return labels if any(labels) and not all(labels) else ()


def clean(label: str) -> bool:
    """Whether a label marks a good clip."""
    return label.lower() in _CLEAN


def groups_by_folder(evaluated: Sequence[Path], reference: Sequence[Path]) -> list[Grouping]:
    """A grouping by first subfolder; none if the evaluated clips are all in one."""
    folders = first_folders(evaluated)
    if len(set(folders)) < 2:
        return []
    return [Grouping("folder", folders, first_folders(reference))]


@dataclass(frozen=True)
class _Columns:
    path: Path
    titles: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]


def _read(path: Path) -> _Columns:
    """The rows of a CSV by their first column; the first line has the titles."""
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            lines = [line for line in csv.reader(file) if line]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except csv.Error as error:
        raise UsageError(f"{path} is not CSV: {error}.") from error
    if len(lines) < 2:
        raise UsageError(f"{path} needs a line of titles and a line for every file.")
    titles = tuple(title.strip() for title in lines[0])
    rows: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(titles):
            raise UsageError(
                f"{path}, line {number}: {len(line)} values for {len(titles)} columns."
            )
        values = tuple(value.strip() for value in line[1:])
        if rows.setdefault(line[0], values) != values:
            raise UsageError(f"{path}, line {number}: {line[0]} is listed twice and differs.")
    return _Columns(path, titles, rows)


def _match(
    columns: _Columns, files: Sequence[Path], *, must_exist: bool
) -> dict[int, tuple[str, ...]]:
    """The values of each clip, found by its path, its path below the folder, or its name."""
    by_name = clips_by_name(files)
    found: dict[int, tuple[str, ...]] = {}
    for name, values in columns.rows.items():
        matches = by_name.get(name.removeprefix("./"), by_name.get(name, []))
        if not matches and must_exist:
            raise UsageError(
                f"{columns.path} names {name}, which is not among the evaluated clips."
            )
        if len(matches) > 1:
            raise UsageError(
                f"{columns.path}: {name} could be {len(matches)} clips; give paths below "
                f"{common_root(files)}."
            )
        for i in matches:
            found[i] = values
    return found
