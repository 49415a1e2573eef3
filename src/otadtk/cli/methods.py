"""``otadtk-methods FILE.json``: a methods paragraph and its references, from a run's document."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.errors import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
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
        "--latex",
        action="store_true",
        help="the paragraph as LaTeX, with \\cite and escaped characters",
    )
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from otadtk.documents.methods import bibtex, latex, methods_paragraph

    document = _read(options.document)
    paragraph = methods_paragraph(document)
    print(latex(paragraph) if options.latex else paragraph, bibtex(document), sep="\n\n")


def _read(source: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        document = json.loads(text)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {source}.") from error
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not JSON: {error}.") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != "otadtk-document/1":
        raise UsageError(
            f"{source} is not a document of otadtk: its schema is {schema!r}, not "
            f"'otadtk-document/1'."
        )
    return dict(document)


if __name__ == "__main__":
    raise SystemExit(main())
