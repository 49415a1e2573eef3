"""Chooses the device, and says how much memory the machine has free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    import torch


def resolve_device(name: str | None) -> torch.device:
    """The device of that name; without a name CUDA if available, else the CPU."""
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if float(torch.ones(1, device=device)) != 1.0:  # "meta" holds no values
            raise RuntimeError("it does not compute")
    except (RuntimeError, AssertionError, NotImplementedError, ImportError, TypeError) as error:
        raise UsageError(f"Device {name!r} is not available here; leave --device out.") from error
    return device


def free_memory() -> int | None:
    """Bytes of main memory that can be had without swapping; ``None`` where the system does not say."""
    try:
        table = Path("/proc/meminfo").read_text()
        # not the free pages alone: cached files fill them, and are dropped when needed
        return 1024 * int(table.partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return None
