"""No measured figure stands in two places of the documentation; elsewhere a link leads to it.

A figure is a number with a decimal point or an exponent and at least three significant digits (two
with an exponent). In a sentence, or in a cell that is one, it must not stand anywhere else. Rows of
tables must not repeat a figure under the same name on another page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.test_documentation import PAGES, ROOT

NO_FIGURES = re.compile(
    r"^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]+`|\]\([^)]*\)|<!--.*?-->|^ {4}.*$", re.DOTALL | re.MULTILINE
)
"""Code, the targets of links, and comments."""
NUMBER = re.compile(r"(?<![\w.,/^])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-−+]?\d+)?(?![\w]|[.,]\d)")
SENTENCE_WORDS = 5
"""A cell with so many words is prose."""
SETTINGS = {
    "3.10": "a version of Python",
    "3.13": "a version of Python",
    "1.24": "a version of numpy",
    "97.5": "a quantile",
    "1e-4": "a tolerance",
    "1e-5": "a tolerance",
}
"""Numbers that are chosen, not measured."""


class Figure(NamedTuple):
    """A number, where it stands, and the name of its row; "" in a sentence."""

    number: str
    page: str
    row: str


def significant(number: str) -> int:
    digits = re.sub(r"e.*|[.,]", "", number).lstrip("0")
    return len(digits) + ("e" in number)


def figures(text: str, page: str) -> list[Figure]:
    """All figures of a page."""
    found = []
    for line in NO_FIGURES.sub(" ", text).splitlines():
        cells = line.strip("| ").split("|") if line.startswith("|") else [line]
        for cell in cells:
            in_table = len(cells) > 1 and len(re.findall(r"[^\W\d_]{2,}", cell)) < SENTENCE_WORDS
            for number in NUMBER.findall(cell):
                if ("." in number or "e" in number) and significant(number) >= 3:
                    row = cells[0].strip() if in_table else ""
                    found.append(Figure(number, page, row))
    return [figure for figure in found if figure.number not in SETTINGS]


def repeated(found: list[Figure]) -> list[str]:
    """What breaks the rule, one line each."""
    places: dict[str, list[Figure]] = defaultdict(list)
    for figure in found:
        places[figure.number].append(figure)
    lines = []
    for number, same in places.items():
        said = [figure for figure in same if not figure.row]
        if said and len(same) > 1:
            lines.append(f"{number}: {', '.join(sorted({figure.page for figure in same}))}")
        rows = {(figure.row, figure.page) for figure in same if figure.row}
        names = [row for row, _ in rows]
        lines += [f"{number} of {row!r}" for row in set(names) if names.count(row) > 1]
    return lines


def pages() -> list[Path]:
    """The pages that are written; those below results/ are parts of one of them."""
    return [page for page in PAGES if page.parent.name != "results"]


def test_no_figure_stands_in_two_places() -> None:
    found = [
        figure
        for page in pages()
        for figure in figures(page.read_text("utf-8"), page.relative_to(ROOT).as_posix())
    ]
    assert len(found) > 500
    assert repeated(found) == []


def test_repetitions_are_found() -> None:
    table = "| fault | found |\n|---|---|\n| clipping | 0.843 |\n"
    assert repeated(figures(table, "a.md") + figures("It finds 0.843 of them.", "b.md")) == [
        "0.843: a.md, b.md"
    ]
    assert repeated(figures(table, "a.md") + figures(table, "b.md")) == ["0.843 of 'clipping'"]
    other = table.replace("clipping", "noise")
    assert repeated(figures(table, "a.md") + figures(other, "b.md")) == []
    said = "| it finds 0.843 of all clipped clips | yes |\n"
    assert repeated(figures(table + said, "a.md")) == ["0.843: a.md"]
    assert repeated(figures("About 0.8 at `0.843`, [x](y#0.843).", "a.md") * 2) == []
