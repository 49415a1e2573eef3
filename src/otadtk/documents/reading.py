"""Reads the JSON document of a run back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from otadtk.errors import UsageError

SCHEMA = "otadtk-document/1"


def read_document(source: str | Path) -> dict[str, Any]:
    """The document of a file, or of stdin for ``-``; a UsageError if it is none."""
    try:
        text = sys.stdin.read() if str(source) == "-" else Path(source).read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_refuse)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {source}.") from error
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not JSON: {error}.") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise UsageError(
            f"{source} is not a document of otadtk: its schema is {schema!r}, not {SCHEMA!r}."
        )
    return dict(document)


def _refuse(constant: str) -> None:
    raise ValueError(f"it has the number {constant}")
