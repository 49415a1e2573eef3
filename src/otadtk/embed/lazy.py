"""An encoder that is built when it is first needed, also in another process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.encoders import EncoderSpec, load_encoder
from otadtk.files.remote import absolute

if TYPE_CHECKING:
    from otadtk.encoders import Encoder

_shared: dict[tuple[str, str | None, Path | None], LazyEncoder] = {}
"""Encoders of this process that were unpickled or asked for, so that each is built only once."""


class LazyEncoder:
    """An encoder that is built once, when the first clip needs it.

    ``weights`` is the user's copy of the weights; ``loaded`` is an encoder that is built already.
    """

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
        self._encoder = self._loaded = loaded
        if weights is not None:  # check the user's file even if the store has everything
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
        return shared_encoder, (self.spec, self._device, weights, self._loaded)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyEncoder:
        return self  # an encoder does not change, and its weights are large


def shared_encoder(
    spec: EncoderSpec,
    device: str | None,
    weights: Path | None = None,
    loaded: Encoder | None = None,
) -> LazyEncoder:
    """The one encoder of this process with these features on that device."""
    if loaded is not None:
        return LazyEncoder(spec, device, loaded=loaded)
    key = (spec.fingerprint, device, weights)
    if key not in _shared:
        _shared[key] = LazyEncoder(spec, device)
        _shared[key]._weights = weights  # set afterwards: the constructor would load it now
    return _shared[key]


def _let_malloc_keep_memory() -> None:
    """Make glibc keep freed blocks up to 32 MB instead of returning them to the system.

    Freeing one block of nearly that size moves glibc's dynamic threshold. Without this, page faults
    take a quarter of an encoder's time.
    """
    import torch

    torch.empty(30 << 20, dtype=torch.uint8)
