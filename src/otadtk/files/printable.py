"""Text that comes from others, such as the name of a clip, as a part of one line."""

from __future__ import annotations

import unicodedata


def readable(text: str) -> str:
    """The text with line breaks, control characters and undecodable bytes as escapes."""
    return "".join(map(_visible, text.encode("utf-8", "backslashreplace").decode("utf-8")))


def _visible(character: str) -> str:
    joiner = character in "\u200c\u200d"  # parts of letters and of emoji
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and not joiner
    return character.encode("unicode_escape").decode("ascii") if hidden else character
