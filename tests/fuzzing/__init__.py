"""Fuzzes what users and others hand in: ``make fuzz FUZZ_SECONDS=300``.

Everything must be answered, or refused with one line and an exit code of the family, within seconds;
anything else is a bug: a traceback, a hang, a Python warning, a number that is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.fuzzing import commands, files, runs, solver
from tests.fuzzing.target import Target


def targets(folder: Path) -> Iterator[Target]:
    """All targets, which work in this folder."""
    yield from files.targets(folder)
    yield from commands.targets(folder)
    yield from runs.targets(folder)
    yield solver.target()
