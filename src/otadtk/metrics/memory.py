"""How much memory a distance may use: the distances themselves do not ask the machine."""

from __future__ import annotations

from otadtk.device import free_memory
from otadtk.distances.transport.memory import DEFAULT_MEMORY


def usable_memory(wanted: int | None = None) -> int:
    """Bytes for a distance: as many as wanted, else a quarter of what is free, 1.8 GB at most."""
    if wanted is not None:
        return wanted
    free = free_memory()
    return DEFAULT_MEMORY if free is None else min(free // 4, DEFAULT_MEMORY)
