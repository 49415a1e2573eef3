"""``--json PATH|-``: the document of a run, into a file or alone on stdout."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument(
        "--json",
        metavar="PATH|-",
        help="write scores, statistics, clips, audit and provenance as one document; - writes it to "
        "stdout, and nothing else",
    )


def json_file(options: argparse.Namespace) -> Path | None:
    """The file to write; ``None`` for stdout and without ``--json``."""
    return None if options.json in (None, "-") else Path(options.json)


def emit_json(document: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the document to the file or stdout; nothing without ``--json``."""
    if options.json is None:
        return
    from otadtk.documents.document import to_text, write_document

    path = json_file(options)
    if path is None:
        sys.stdout.write(to_text(document))
        return
    write_document(document, path)
    logger.info("the document is in %s", path)
