"""Executes described work: here on threads, or with the same description on a Ray cluster."""

from __future__ import annotations

from otadtk.engine.base import Engine, Lost, RunSummary, Worker
from otadtk.engine.local import LocalEngine, default_workers
from otadtk.engine.ray import RayEngine

__all__ = ["Engine", "LocalEngine", "Lost", "RayEngine", "RunSummary", "Worker", "default_workers"]
