"""Engines: where work is done, on threads of this process or on a Ray cluster.

Work is described once, as a function that makes a worker; an engine takes items through it. An
engine is never ``None`` inside the library: ``resolve_engine`` makes one of optional arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otadtk.engine.base import Engine, Lost, RunSummary, Worker
from otadtk.engine.local import LocalEngine, default_workers
from otadtk.engine.resolve import resolve_engine

if TYPE_CHECKING:
    from otadtk.engine.ray.engine import RayEngine

__all__ = [
    "Engine",
    "LocalEngine",
    "Lost",
    "RayEngine",
    "RunSummary",
    "Worker",
    "default_workers",
    "resolve_engine",
]


def __getattr__(name: str) -> Any:
    """``RayEngine``, which few runs need, is imported when it is used."""
    if name != "RayEngine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from otadtk.engine.ray.engine import RayEngine

    return RayEngine
