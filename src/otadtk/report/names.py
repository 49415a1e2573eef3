"""Names of clips as a report shows them: below their common folder."""

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
