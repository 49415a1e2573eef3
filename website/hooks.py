"""Hooks of mkdocs: adds the generated pages, and mends links that leave the folder of the pages.

The pages are also read outside of the site, so their links are those of the repository. A link to
CONTRIBUTING.md or CHANGELOG.md becomes one to its page of the site; one to source code becomes its text.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from mkdocs.structure.files import File  # noqa: E402

from website import commands, generated  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

GALLERY = ROOT / "build" / "gallery"
WHOLE_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^()\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages that the navigation does not name at the end of the section of their folder."""
    docs = Path(config.docs_dir)
    written = [page.relative_to(docs).as_posix() for page in sorted(docs.rglob("*.md"))]
    pages = written + [f"reference/commands/{name}.md" for name in commands.parsers()]
    named = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    _complete(config.nav or [], [page for page in pages if page not in named])
    return config


def _complete(entries: list[Any], pages: list[str]) -> None:
    """Add to each section the pages of the folder of its first page."""
    for entry in entries:
        for inner in entry.values() if isinstance(entry, dict) else ():
            if isinstance(inner, list):
                _complete(inner, pages)
    if isinstance(entries[0], str):
        folder = posixpath.dirname(entries[0])
        entries += [page for page in pages if posixpath.dirname(page) == folder]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the program, and those that live outside of docs."""
    for name, parser in commands.parsers().items():
        _add(files, config, f"reference/commands/{name}.md", commands.command_page(parser))
    _add(files, config, "reference/commands/index.md", commands.commands_index())
    _add(files, config, "reference/exit-codes.md", generated.exit_codes_page())
    _add(files, config, "reference/protocols.md", generated.protocols_page())
    _add(files, config, "reference/json.md", generated.schema_page())
    _add(files, config, "reference/document-1.json", generated.schema_file())
    for source, page in WHOLE_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        _add(files, config, page, mended(text, source))
    for made in sorted(GALLERY.glob("*.html")):
        files.append(File.generated(config, f"gallery/{made.name}", abs_src_path=str(made)))
    return files


def _add(files: Files, config: MkDocsConfig, place: str, content: str) -> None:
    files.append(File.generated(config, place, content=content))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The text of a page, with links that the site can follow, and with what the demo printed."""
    if page.file.generated_by is not None:
        return markdown
    for name, text in demo_lines().items():
        markdown = markdown.replace(f"<!-- demo: {name} -->", f"```console\n{text}\n```")
    return mended(markdown, f"docs/{page.file.src_uri}")


def demo_lines() -> dict[str, str]:
    """The demo's command and what follows it, if the gallery has been made."""
    printed = GALLERY / "demo.txt"
    if not printed.exists():
        return {}
    command, _, output = printed.read_text(encoding="utf-8").partition("\n")
    return {"command": command, "output": output.partition("\nHear and see")[0].strip("\n")}


def mended(markdown: str, source: str) -> str:
    """The text of a page at the path ``source`` of the repository, with links within the site."""

    def replace(found: re.Match[str]) -> str:
        text, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        anchor = f"#{anchor}" if anchor else ""
        if whole in WHOLE_PAGES:
            return f"[{text}]({_relative(WHOLE_PAGES[whole], source)}{anchor})"
        inside = whole.startswith("docs/") and not (ROOT / whole).is_dir()
        if inside and source.startswith("docs/"):
            return found[0]
        return f"[{text}]({whole[5:]}{anchor})" if inside else text

    # code keeps its brackets
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", markdown, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [LINK.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def _relative(page: str, source: str) -> str:
    folder = posixpath.dirname(source).removeprefix("docs").lstrip("/")
    return posixpath.relpath(page, folder or ".")
