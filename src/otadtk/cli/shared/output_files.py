"""Checks of output files before any work is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from otadtk.errors import UsageError


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Refuse outputs, by their options, that cannot be written or would overwrite each other."""
    # Path.resolve would raise for a symbolic link to itself
    owners = {os.path.realpath(path): str(path) for path in inputs if path is not None}
    for flag, path in outputs.items():
        check_output(path)
        if path is None:
            continue
        place = os.path.realpath(path)
        if place in owners:
            raise UsageError(f"{flag} would overwrite {owners[place]}; name another file.")
        owners[place] = f"what {flag} writes"


def check_output(path: Path | None) -> None:
    """Refuse an output path that cannot be written."""
    if path is None:
        return
    if str(path) == "-":
        raise UsageError("- stands for stdout with --json only; name a file.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file to write.")
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        raise UsageError(f"{path} is not a regular file; name a file to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
