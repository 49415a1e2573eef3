"""Starts the commands of otadtk, after a look at whose package ``otadtk`` Python imports.

The registry's package ``otadtk`` is the one of the paper's author. In the same environment it hides this
one or replaces some of its files. This module has a name of its own, so it is found all the same.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

DISTRIBUTION = "otadtk-audio"
MARK = f'DISTRIBUTION = "{DISTRIBUTION}"'
"""What the first file of our package contains."""
_OBJECTS = 20_000
"""New objects after which Python looks for cycles: modules are nearly all of them and stay. After the
usual 700, a quarter of a second of every command went into that."""
_REMEDY = f"pip uninstall otadtk, then install {DISTRIBUTION} again"


def __getattr__(command: str) -> Callable[[], int]:
    """The function that runs a command, for the scripts of the installation."""
    if command.startswith("_"):
        raise AttributeError(command)
    return partial(_start, command)


def _start(command: str) -> int:
    """Run a command, unless another package would be run in its place."""
    other = _other_version()
    if not _is_ours():
        why = f"otadtk {other} hides this otadtk" if other else "files of this otadtk are gone"
        print(f"otadtk: error: {why}: {_REMEDY}.", file=sys.stderr)
        return 2
    if other:
        print(
            f"otadtk: warning: otadtk {other}, another package, is installed in the same place: "
            f"{_REMEDY}.",
            file=sys.stderr,
        )
    gc.set_threshold(_OBJECTS)
    run: Callable[[], int] = importlib.import_module(f"otadtk.cli.{command}").main
    return run()


def _is_ours() -> bool:
    """Whether ``import otadtk`` gives our package, whole."""
    spec = importlib.util.find_spec("otadtk")
    if spec is None or spec.origin is None:
        return False
    return MARK in Path(spec.origin).read_text(encoding="utf-8")


def _other_version() -> str | None:
    """The version of the other package, if it is installed."""
    try:
        found = importlib.metadata.distribution("otadtk")
    except importlib.metadata.PackageNotFoundError:
        return None
    ours = found.metadata["Author"] == "The otadtk developers"  # before the name was changed
    return None if ours else found.version
