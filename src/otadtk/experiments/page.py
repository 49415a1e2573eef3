"""Inserts figures and folded tables into a Markdown page, between markers that name the experiment.

<!-- results: rank-one -->
… replaced …
<!-- end -->
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from otadtk.errors import UsageError
from otadtk.experiments import EXPERIMENTS
from otadtk.files.atomic import replacing

_BLOCK = re.compile(r"<!-- results: (?P<name>[\w-]+) -->\n.*?<!-- end -->\n", re.DOTALL)
_TABLE = re.compile(r"^\*\*(?P<caption>.+)\*\*\n\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)


def refresh(page: Path, results: Path) -> list[str]:
    """Fill every block of a page from the results; returns the experiments on the page."""
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{page} cannot be read: {error}.") from error
    names = [match["name"] for match in _BLOCK.finditer(text)]
    if not names:
        raise UsageError(f"{page} has no block <!-- results: NAME --> … <!-- end -->.")
    filled = _BLOCK.sub(lambda match: _block(match["name"], page, results), text)
    with replacing(page) as file:
        file.write(filled.encode())
    return names


def _block(name: str, page: Path, results: Path) -> str:
    if name not in EXPERIMENTS:
        raise UsageError(f"{page} asks for the unknown experiment {name!r}.")
    tables = results / f"{name}.md"
    if not tables.is_file():
        raise UsageError(f"There is no {tables}: run otadtk-experiments {name} first.")
    figures = [
        f"![{file.stem}]({Path(os.path.relpath(file, page.parent)).as_posix()})\n"
        for file in sorted(results.glob(f"{name}-*.svg"))
        if not any(file.stem.startswith(f"{other}-") for other in _longer(name))
    ]
    parts = [*figures, _TABLE.sub(_folded, tables.read_text(encoding="utf-8"))]
    return f"<!-- results: {name} -->\n" + "\n".join(parts) + "<!-- end -->\n"


def _folded(table: re.Match[str]) -> str:
    """A table that opens by a click on its caption, on the site and where Markdown is shown."""
    caption = table["caption"].replace("<", "&lt;")
    return f'<details markdown="1">\n<summary>{caption}</summary>\n\n{table["rows"]}\n</details>\n'


def _longer(name: str) -> list[str]:
    """Other experiments whose name starts with this name."""
    return [other for other in EXPERIMENTS if other != name and other.startswith(name)]
