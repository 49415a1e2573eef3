"""No measured figure stands in two places of the documentation; elsewhere a link leads to it.

A figure is a number with a decimal point or an exponent and at least three significant digits (two
with an exponent). What a sentence says, or a cell that is one, must stand in no other sentence, and in
no table whose row or column shares a word with it. A row must not repeat a figure of a row of the same
name on another page. Numbers that are equal by chance are thus left alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from tests.test_documentation import PAGES, ROOT

NO_FIGURES = re.compile(
    r"^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]+`|\]\([^)]*\)|<!--.*?-->|^ {4}[^\n]*$",
    re.DOTALL | re.MULTILINE,
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
    "10.24": "the window of two encoders, in seconds",
    "2.11": "a version of torchaudio",
    "5.22": "a version of transformers",
}
"""Numbers that are chosen, not measured."""


class Figure(NamedTuple):
    """A number, where it stands, the name of its row ("" in a sentence), and the words around it."""

    number: str
    page: str
    row: str
    words: frozenset[str]


def significant(number: str) -> int:
    digits = re.sub(r"e.*|[.,]", "", number).lstrip("0")
    return len(digits) + ("e" in number)


def long_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{4,}", text.lower()))


def figures(text: str, page: str) -> list[Figure]:
    """All figures of a page."""
    found: list[Figure] = []

    def collect(part: str, row: str, context: str) -> None:
        for number in NUMBER.findall(part):
            measured = ("." in number or "e" in number) and significant(number) >= 3
            if measured and number not in SETTINGS:
                found.append(Figure(number, page, row, long_words(context)))

    for paragraph in re.split(r"\n\s*\n", NO_FIGURES.sub(" ", text)):
        lines = paragraph.strip().splitlines()
        rows = [line.strip("| ").split("|") for line in lines if line.startswith("|")]
        for row in rows:
            for title, cell in zip_longest(rows[0], row, fillvalue=""):
                if len(re.findall(r"[^\W\d_]{2,}", cell)) >= SENTENCE_WORDS:
                    collect(cell, "", " ".join(row))
                else:
                    collect(cell, row[0].strip(), f"{title} {row[0]}")
        said = "\n".join(line for line in lines if not line.startswith("|"))
        collect(said, "", said)
    return found


def repeated(found: list[Figure]) -> list[str]:
    """What breaks the rule, one line each."""
    places: dict[str, list[Figure]] = defaultdict(list)
    for figure in found:
        places[figure.number].append(figure)
    lines = []
    for number, same in places.items():
        said = [figure for figure in same if not figure.row]
        rows = [figure for figure in same if figure.row]
        for k, one in enumerate(said):
            others = said[k + 1 :] + [row for row in rows if row.words & one.words]
            lines += [f"{number}: {one.page}, {other.page}" for other in others]
        names = [row for row, _ in {(figure.row, figure.page) for figure in rows}]
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
    assert len(found) > 1_500
    assert repeated(found) == []


def test_repetitions_are_found() -> None:
    table = "| fault | found |\n|---|---|\n| clipping | 0.843 |\n"
    said = figures("Of all clips\nwith clipping it finds 0.843.", "b.md")
    assert repeated(figures(table, "a.md") + said) == ["0.843: b.md, a.md"]
    assert repeated(said + said) == ["0.843: b.md, b.md"]
    assert repeated(figures(table, "a.md") + figures(table, "b.md")) == ["0.843 of 'clipping'"]
    cell = "| | |\n|---|---|\n| it finds 0.843 of all clips with clipping | yes |\n"
    assert repeated(figures(f"{table}\n{cell}", "a.md")) == ["0.843: a.md, a.md"]
    assert repeated(figures(table, "a.md") + figures("It takes 0.843 s.", "b.md")) == []
    other = table.replace("clipping", "noise")
    assert repeated(figures(table, "a.md") + figures(other, "b.md")) == []
    assert repeated(figures("About 0.8 at `0.843`, [x](y#0.843).", "a.md") * 2) == []
