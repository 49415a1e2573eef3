"""Names of clips: below their common folder, and back from a name to the clip."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def relative_name(file: Path, root: Path) -> str:
    """The path of a clip below ``root``, with slashes; its bare name if it is not below it."""
    whole, start = file.as_posix(), root.as_posix().rstrip("/") + "/"  # relative_to is slow
    if start == "./" and not file.is_absolute():
        return whole
    return whole[len(start) :] if whole.startswith(start) else file.name


def common_root(files: Sequence[Path]) -> Path:
    """The deepest folder that holds all clips; the current one if there is none."""
    try:
        return Path(os.path.commonpath([os.fspath(file.parent) for file in files]))
    except ValueError:  # some paths are absolute and some are not
        return Path()


def first_folders(files: Sequence[Path]) -> tuple[str, ...]:
    """The first folder of each clip below the common one; "(top)" for clips that are in no other."""
    root = common_root(files)
    names = [relative_name(file, root) for file in files]
    return tuple(name.split("/")[0] if "/" in name else "(top)" for name in names)


def shown_names(files: Sequence[Path], what: str) -> list[str]:
    """The names below the common folder; clips without names, which have numbers, are "what 7"."""
    root = common_root(files) if files else Path()
    names = [relative_name(file, root) for file in files]
    return [f"{what} {name}" for name in names] if all(map(str.isdecimal, names)) else names


def clips_by_name(files: Sequence[Path]) -> dict[str, list[int]]:
    """The clips that each name may mean: the path, the path below the common folder, the bare name."""
    root = common_root(files)
    found: dict[str, list[int]] = {}
    for i, file in enumerate(files):
        for name in {os.fspath(file), relative_name(file, root), file.name}:
            found.setdefault(name, []).append(i)
    return found
