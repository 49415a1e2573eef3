"""``otadtk-methods FILE.json``: a methods paragraph and its references, from a run's document."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute


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
    from otadtk.documents.reading import read_document

    document = read_document(options.document)
    paragraph = methods_paragraph(document)
    print(latex(paragraph) if options.latex else paragraph, bibtex(document), sep="\n\n")


if __name__ == "__main__":
    raise SystemExit(main())
