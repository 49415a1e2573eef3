"""An encoder that is built when it is needed, in whatever process that happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.encoders import EncoderSpec, ShippedSpec, load_encoder, ship
from otadtk.places import absolute

if TYPE_CHECKING:
    from otadtk.encoders import Encoder

_arrived: dict[tuple[str, str | None, Path | None], LazyEncoder] = {}
"""Encoders that came from another process: each is built once, however often it comes."""


class LazyEncoder:
    """An encoder that is built, once, when the first clip really needs it."""

    def __init__(
        self,
        spec: EncoderSpec,
        device: str | None = None,
        weights: Path | None = None,
        loaded: Encoder | None = None,
    ) -> None:
        self.spec = spec
        self._device = device
        self._weights = weights
        self._lock = threading.Lock()
        self._encoder = self._given = loaded
        if weights is not None:  # the user's own file is checked even if the store has everything
            self.get()

    def get(self) -> Encoder:
        """The loaded encoder."""
        from otadtk.device import resolve_device

        with self._lock:
            if self._encoder is None:
                device = resolve_device(self._device)
                self._encoder = load_encoder(self.spec, device, self._weights)
                _let_malloc_keep_memory()
            return self._encoder

    def __reduce__(self) -> tuple[Callable[..., LazyEncoder], tuple[Any, ...]]:
        weights = absolute(self._weights) if self._weights is not None else None
        return _arrive, (ship(self.spec), self._device, weights, self._given)


def _arrive(
    shipped: ShippedSpec, device: str | None, weights: Path | None, given: Encoder | None
) -> LazyEncoder:
    spec = shipped.unpack()
    if given is not None:
        return LazyEncoder(spec, device, loaded=given)
    key = (spec.fingerprint, device, weights)
    if key not in _arrived:
        _arrived[key] = LazyEncoder(spec, device)
        _arrived[key]._weights = weights
    return _arrived[key]


def _let_malloc_keep_memory() -> None:
    """Teach glibc not to return the memory of every layer's output to the system.

    Freeing one block of nearly 32 MB, the largest that moves glibc's dynamic threshold, makes it
    keep blocks of that size: without it, page faults take a quarter of an encoder's time.
    """
    import torch

    torch.empty(30 << 20, dtype=torch.uint8)
