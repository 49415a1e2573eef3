"""Checks the weight files that are on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from otadtk.errors import WeightsError
from otadtk.weights.cache import find_converted
from otadtk.weights.convert import check_seen, read_converted
from otadtk.weights.files import WeightFile, verify
from otadtk.weights.obtain import in_directory


def check_present(model: str, files: Sequence[WeightFile]) -> list[tuple[str, bool]]:
    """A message on each weight file of a model on this machine, and whether the file is right.

    Published files in ``$OTADTK_WEIGHTS`` are checked against their published hashes, or where
    there is none against the one seen first; conversions against the hash of their content that
    was written into them.
    """
    findings: list[tuple[str, bool]] = []
    converted = find_converted(model, files)
    directory = os.environ.get("OTADTK_WEIGHTS")
    for file in files if directory is not None else ():
        path = in_directory(file, Path(directory or ""), model)
        if path is not None:
            expected = file.digest if path.name == file.name else file.published_digest
            if file.has_hash:
                findings.append(_finding(path, partial(verify, path, expected, "Replace it.")))
            else:
                seen = partial(check_seen, model, files, {file.name: path}, converted)
                findings.append(_finding(path, seen, "no hash is published to check it against"))
    if converted is not None:
        findings.append(_finding(converted, partial(read_converted, converted)))
    return findings


def _finding(path: Path, check: Callable[[], object], praise: str = "sound") -> tuple[str, bool]:
    try:
        check()
    except WeightsError as error:
        return str(error), False
    return f"{path}: {praise}", True
