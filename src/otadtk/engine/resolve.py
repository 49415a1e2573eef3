"""From the optional arguments of a public function or a command to an engine."""

from __future__ import annotations

from otadtk.engine.base import Engine
from otadtk.engine.local import LocalEngine


def resolve_engine(engine: Engine | None = None, workers: int | None = None) -> Engine:
    """The engine to use: the given one, or threads of this process.

    ``workers`` is the number of these threads (default: one per core). It takes precedence over
    the threads of a given ``LocalEngine``. A cluster has its own number of workers and ignores it.
    Only public functions call this: inside the library an engine is never ``None``.
    """
    if engine is None or (workers is not None and isinstance(engine, LocalEngine)):
        return LocalEngine(workers)
    return engine
