"""Draws the pictures of the pages into docs/images: `make pictures`.

Each picture carries the hash of what it was made from, so that a test can say which are out of date.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from website import figures

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
POWER = ROOT / "docs" / "evidence" / "power.csv"
LISTENING = ROOT / "docs" / "evidence" / "results" / "listening.csv"
PICTURES: dict[str, tuple[Callable[..., Any], tuple[Path, ...]]] = {
    "pipeline": (figures.pipeline, ()),
    "epsilon": (figures.epsilon, ()),
    "floor": (figures.floor, ()),
    "verdict": (figures.verdict, ()),
    "power": (figures.power, (POWER,)),
    "listeners": (figures.listeners, (LISTENING,)),
}
MARK = re.compile(r"made from ([0-9a-f]{16})")


def origin(name: str) -> str:
    """The hash of the code and the data behind a picture."""
    draw, data = PICTURES[name]
    parts = [inspect.getsource(draw).encode(), *(path.read_bytes() for path in data)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def is_current(name: str) -> bool:
    """Whether the picture on disk was made from the present code and data."""
    path = IMAGES / f"{name}.svg"
    found = MARK.search(path.read_text(encoding="utf-8")) if path.exists() else None
    return found is not None and found[1] == origin(name)


def main(arguments: list[str] | None = None) -> None:
    """Draw the pictures that are out of date, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args(arguments).names
    IMAGES.mkdir(exist_ok=True)
    for name in names or [name for name in PICTURES if not is_current(name)]:
        draw, data = PICTURES[name]
        figure = draw(*data)
        figure.savefig(
            IMAGES / f"{name}.svg", metadata={"Date": None, "Title": f"made from {origin(name)}"}
        )
        print(f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
