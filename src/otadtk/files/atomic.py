"""Writes files atomically: completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY_PREFIX = ".writing-"


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    A kill leaves at most a file whose name starts with ``TEMPORARY_PREFIX``.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY_PREFIX)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes files that only their owner reads
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
