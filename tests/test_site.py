"""The pages of the documentation: links, anchors, pictures, and the reference of the commands."""

from __future__ import annotations

import argparse
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from markdown.extensions.toc import slugify

from otadtk.cli.shared.execute import EXIT_CODES
from otadtk.documents.schema import document_schema
from tests.test_documentation import PAGES, ROOT
from website import commands, equations, generated, hooks, pictures

DOCS = ROOT / "docs"
WHOLE = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
MADE = {"gallery/report.html", "gallery/comparison.html"}
"""What `make docs` makes, beside the generated pages."""


def identity(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def made_pages() -> dict[str, str]:
    """The generated pages, by their place below docs."""
    pages = {f"reference/commands/{n}.md": commands.command_page(p) for n, p in parsers().items()}
    return pages | {
        "reference/commands/index.md": commands.commands_index(),
        "reference/exit-codes.md": generated.exit_codes_page(),
        "reference/protocols.md": generated.protocols_page(),
        "reference/json.md": generated.schema_page(),
        "reference/document-1.json": generated.schema_file(),
    }


def parsers() -> dict[str, argparse.ArgumentParser]:
    return commands.parsers()


@cache
def anchors(text: str) -> set[str]:
    """The anchors of a page: its headings as the site writes them, and its own."""
    prose = CODE.sub(lambda found: found[0] if found[1] is None else "", text)
    found = set(re.findall(r"\{ #([\w-]+) \}", prose))
    for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE):
        plain = re.sub(r"\{ #.*\}|[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = slugify(plain, "-")
        count = 0
        while (name := f"{slug}_{count}" if count else slug) in found:
            count += 1
        found.add(name)
    return found


@pytest.mark.parametrize("page", [*PAGES, *WHOLE], ids=identity)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            assert target.startswith("https://"), target
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        below = place.relative_to(DOCS).as_posix() if place.is_relative_to(DOCS) else ""
        assert place.exists() or below in MADE | set(made_pages()), f"{page.name}: {target}"
        if anchor:
            there = place.read_text("utf-8") if place.exists() else made_pages()[below]
            assert anchor in anchors(there), f"{page.name}: {target}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "results/" not in identity(page)], ids=identity
)
def test_every_page_begins_with_what_it_is_for(page: Path) -> None:
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    title, _, rest = text.partition("\n")
    assert re.match(r"# \S", title), "the first line is the title"
    first = rest.strip().split("\n\n", maxsplit=1)[0]
    assert re.match(r"[\w*`\[(]", first), f"a sentence must follow the title, not {first[:40]!r}"
    assert not first.startswith("```"), "words before code"


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_are_of_this_code_and_data(name: str) -> None:
    assert pictures.is_current(name), f"docs/images/{name}.svg is out of date: make pictures"


def test_every_picture_has_a_command() -> None:
    made = {f"{name}.svg" for name in pictures.PICTURES} | {
        "report.png"
    }  # make pictures, make readme
    assert {path.name for path in (DOCS / "images").iterdir()} == made


def test_an_option_is_three_clicks_away() -> None:
    """From the front page to the commands, to one of them, to an option."""
    home = (DOCS / "index.md").read_text("utf-8")
    assert "reference/commands/index.md" in LINK.findall(home)
    listed = set(LINK.findall(CODE.sub("", made_pages()["reference/commands/index.md"])))
    for name, parser in parsers().items():
        assert f"{name}.md" in listed
        page = anchors(made_pages()[f"reference/commands/{name}.md"])
        for action in parser._actions:
            if action.option_strings and action.help is not argparse.SUPPRESS:
                longest = max(action.option_strings, key=len)
                assert f"{name}-{longest.strip('-')}" in page, f"{name} {longest}"


def test_every_option_of_every_command_is_in_the_reference() -> None:
    assert len(parsers()) >= 12
    for name, parser in parsers().items():
        page = made_pages()[f"reference/commands/{name}.md"]
        for action in parser._actions:
            for option in action.option_strings:
                assert f"`{option}" in page or f" {option}" in page, f"{name} {option}"
        terms = re.findall(r"\{ #([\w-]+) \}$", page, re.MULTILINE)
        assert len(terms) >= len(parser._actions) - len(parser._defaults)
        assert len(terms) == len(set(terms)), "an anchor for each option"


def test_exit_codes_have_their_exceptions() -> None:
    page = made_pages()["reference/exit-codes.md"]
    for code in re.findall(r"\b\d+\b", EXIT_CODES):
        assert f"| {code} |" in page
    assert "`otadtk-gate`: worse than the baseline | – |" in page
    assert "| 3 | input audio or embeddings | `AudioError` |" in page


def undescribed(part: Any, place: str = "") -> list[str]:
    """The fields of a schema, at any depth, that do not say what they mean."""
    if not isinstance(part, (dict, list)):
        return []
    if isinstance(part, list):
        return [name for inner in part for name in undescribed(inner, place)]
    fields = part.get("properties", {})
    missing = [f"{place}.{name}" for name, field in fields.items() if "description" not in field]
    return missing + [
        name for key, inner in part.items() for name in undescribed(inner, f"{place}.{key}")
    ]


def test_every_field_of_the_document_is_described() -> None:
    assert undescribed(document_schema()) == []
    page = made_pages()["reference/json.md"]
    assert "| `statistics.floor` | [`floor`](#floor) or null | yes | The floor" in page
    assert "| `clips` | list of [`clip`](#clip) | no | The evaluated clips" in page
    assert "| `nearest[].share` | number | yes | Share of the clip's mass" in page
    for row in re.findall(r"^\| `.*\|$", page, re.MULTILINE):
        assert not row.endswith("|  |"), row


def test_links_out_of_the_pages_are_mended() -> None:
    text = (
        "[a](../../CONTRIBUTING.md#an-encoder) [b](../../src/x.py) [c](method.md) `[d](e)` [f](#g)"
    )
    assert hooks.mended(text, "docs/understand/solver.md") == (
        "[a](../contributing.md#an-encoder) b [c](method.md) `[d](e)` [f](#g)"
    )
    assert hooks.mended("[a](docs/faq.md)", "CHANGELOG.md") == "[a](faq.md)"


def test_an_equation_becomes_mathml() -> None:
    made = equations.equation(r"c_j = \sum_i T_{ij} C_{ij}")
    assert "<math" in made
    assert 'aria-label="c_j = \\sum_i T_{ij} C_{ij}"' in made


def test_every_extra_is_named_where_one_installs() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    page = (DOCS / "start" / "install.md").read_text("utf-8")
    for extra in re.findall(r"^([a-z-]+) = ", extras, re.MULTILINE):
        assert f"`{extra}`" in page or extra == "all-encoders", extra


def test_every_task_is_in_the_list_of_tasks() -> None:
    index = (DOCS / "how-to" / "index.md").read_text("utf-8")
    for page in (DOCS / "how-to").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, f"add {page.name} to the list"
