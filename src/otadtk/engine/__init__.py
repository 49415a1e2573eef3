"""Engines: where work is done, on threads of this process or on a Ray cluster.

Work is described once, as a function that makes a worker; an engine takes items through it. An
engine is never ``None`` inside the library: ``resolve_engine`` makes one of optional arguments.
"""

from __future__ import annotations

from otadtk.engine.base import Engine, Lost, RunSummary, Worker
from otadtk.engine.local import LocalEngine, default_workers
from otadtk.engine.ray.engine import RayEngine
from otadtk.engine.resolve import resolve_engine

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
