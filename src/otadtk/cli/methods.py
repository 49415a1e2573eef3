"""``otadtk-methods FILE.json``: a methods paragraph and its references, from a run's document."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otadtk.cli.command import EXIT_CODES, add_version, execute
from otadtk.errors import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-methods",
        description="Print a paragraph for a paper's methods section and its BibTeX entries, from "
        "what otadtk --json or otadtk-compare --json wrote.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("document", metavar="FILE.json", help="the document, or - for stdin")
    parser.add_argument(
        *("--latex",),
        action="store_true",
        help="the paragraph for a LaTeX file, with \\cite and escaped signs",
    )
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from otadtk.methods import bibtex, latex, methods_paragraph

    document = _read(options.document)
    paragraph = methods_paragraph(document)
    print(latex(paragraph) if options.latex else paragraph, bibtex(document), sep="\n\n")


def _read(place: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
        document = json.loads(text)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {place}.") from error
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is not JSON: {error}.") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != "otadtk-document/1":
        raise UsageError(
            f"{place} is not a document of otadtk: its schema is {schema!r}, not "
            f"'otadtk-document/1'."
        )
    return dict(document)


if __name__ == "__main__":
    raise SystemExit(main())
