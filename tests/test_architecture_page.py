"""The map of the code in docs/understand/architecture.md agrees with the code."""

from __future__ import annotations

import re

from tests.test_architecture import LAYERS, LEVEL, ROOT

PAGE = ROOT.parents[1] / "docs" / "understand" / "architecture.md"


def block(name: str) -> list[str]:
    """The lines of the fenced block with this info string on the page of the architecture."""
    (text,) = re.findall(rf"^```{name}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return text.splitlines()


def test_the_page_has_these_layers() -> None:
    assert tuple(tuple(line.split()) for line in block("layers")) == LAYERS


def test_the_page_names_every_room_and_only_what_exists() -> None:
    room, rooms = "", set()
    for line in block("rooms"):
        name = line.split()[0]
        if not line.startswith(" "):
            room, name = name, ""
            rooms.add(room.removesuffix("/").removesuffix(".py"))
        assert (ROOT / room / name).exists(), f"{PAGE.name} names {room}{name}, which is not there"
        assert name.endswith("/") == (ROOT / room / name).is_dir() or not name, line
    assert rooms - {"__init__"} == set(LEVEL)
