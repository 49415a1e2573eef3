"""Names of clips as a report shows them: below their common folder, with every character visible."""

from __future__ import annotations

import os
import unicodedata
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


def readable(text: str) -> str:
    """The text with line breaks, control characters and undecodable bytes as escapes."""
    return "".join(map(_visible, text.encode("utf-8", "backslashreplace").decode("utf-8")))


def _visible(character: str) -> str:
    joiner = character in "\u200c\u200d"  # parts of letters and of emoji
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and not joiner
    return character.encode("unicode_escape").decode("ascii") if hidden else character
