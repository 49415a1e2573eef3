"""Which device computes."""

from __future__ import annotations

import torch

from otadtk.errors import UsageError


def resolve_device(name: str | None) -> torch.device:
    """The device of that name, or CUDA when there is one and nothing was asked for."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"Device {name!r} is not available here; leave --device out.") from error
    return device
