"""Dissimilarity matrices: numbers of a text or CSV file, and the sounds of their rows.

A matrix of numbers alone has its rows in the order of the sorted names of a folder's sounds. A
matrix with names in its first row and column names the sounds itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from otadtk.audio.find import AUDIO_SUFFIXES, find_audio
from otadtk.errors import UsageError
from otadtk.experiments.listening.layouts.csv_rows import finite
from otadtk.experiments.listening.sets import DissimilaritySet, Excerpt, Numbers

_FEWEST_SOUNDS = 4


def is_matrix(lines: list[list[str]]) -> bool:
    """Whether a file holds a matrix: as many rows as columns, with names or without."""
    return _is_number(lines[0][0]) or _has_names(lines)


def read_matrix(path: Path, lines: list[list[str]], sounds: Path | None) -> DissimilaritySet:
    """The sounds and the dissimilarities of a file."""
    named = _has_names(lines)
    body = [row[1:] for row in lines[1:]] if named else lines
    size = len(body)
    if any(len(row) != size for row in body):
        raise UsageError(f"{path} has {size} rows, but a row of another length: it is no matrix.")
    if size < _FEWEST_SOUNDS:
        raise UsageError(f"{path} has {size} sounds; a comparison needs {_FEWEST_SOUNDS} at least.")
    first = 2 if named else 1
    values = np.array(
        [
            [finite(path, n, cell or "0", "dissimilarity") for cell in row]
            for n, row in enumerate(body, start=first)
        ]
    )
    matrix, folder = _symmetric(path, values), _folder(path, sounds)
    files = (
        [_sound(path, name, folder) for name in lines[0][1:]] if named else _sorted(path, folder)
    )
    if len(files) != size:
        raise UsageError(f"{path} has {size} rows, but {folder} has {len(files)} sounds.")
    return DissimilaritySet(path.stem, tuple(Excerpt(file) for file in files), matrix)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _has_names(lines: list[list[str]]) -> bool:
    """A matrix of numbers alone may look so too where it is symmetric, but for its first cell."""
    named = not _is_number(lines[0][0])
    return named and len(lines) > 2 and lines[0][1:] == [row[0] for row in lines[1:]]


def _symmetric(path: Path, values: Numbers) -> Numbers:
    """The whole matrix of an upper triangle, a lower one, or both; the diagonal does not count."""
    upper, lower = np.triu(values, 1), np.tril(values, -1).T
    if not lower.any():
        lower = upper
    elif not upper.any():
        upper = lower
    if not np.allclose(upper, lower):
        raise UsageError(f"{path} is not symmetric; give one triangle, or the mean of the two.")
    found: Numbers = upper + upper.T
    return found


def _folder(path: Path, sounds: Path | None) -> Path | None:
    """``DIR/NAME`` or DIR of --sounds; else the folder NAME beside the file NAME.txt."""
    places = (path.with_suffix(""),) if sounds is None else (sounds / path.stem, sounds)
    return next((place for place in places if place.is_dir()), None)


def _sorted(path: Path, folder: Path | None) -> list[Path]:
    if folder is None:
        raise UsageError(
            f"{path} names no sounds: put them into the folder {path.stem} beside it, or give "
            f"--sounds DIR."
        )
    return sorted(find_audio(folder, recursive=False), key=lambda file: file.name)


def _sound(path: Path, name: str, folder: Path | None) -> Path:
    for place in (path.parent, *([] if folder is None else [folder])):
        candidates = [place / name, *(place / f"{name}{suffix}" for suffix in AUDIO_SUFFIXES)]
        found = next((file for file in candidates if file.is_file()), None)
        if found is not None:
            return found
    where = path.parent if folder is None else f"{path.parent} and {folder}"
    raise UsageError(f"{path}: there is no sound {name!r} in {where}.")
