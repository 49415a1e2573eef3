"""A spec on its way to another process, with what its loader must find there."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from otadtk.encoders.spec import EncoderSpec


@dataclass(frozen=True)
class ShippedSpec:
    """A spec and, where its loader keeps something beside it, that too, all the way inside."""

    spec: EncoderSpec
    companion: Any = None
    inner: ShippedSpec | None = None

    def unpack(self) -> EncoderSpec:
        """The spec, now known to the loaders of this process."""
        if self.inner is not None:
            self.inner.unpack()
        if self.companion is not None:
            _companions(self.spec)[self.spec.fingerprint] = self.companion
        return self.spec


def ship(spec: EncoderSpec) -> ShippedSpec:
    """What another process needs to load the encoder of a spec."""
    companion = _companions(spec).get(spec.fingerprint)
    inner = companion[0] if isinstance(companion, tuple) else companion
    return ShippedSpec(spec, companion, ship(inner) if isinstance(inner, EncoderSpec) else None)


def _companions(spec: EncoderSpec) -> dict[str, Any]:
    """What a loader keeps beside specs: one's own class, or the encoder inside."""
    module = spec.loader.partition(":")[0]
    if module not in ("otadtk.encoders.own", "otadtk.encoders.signal", "otadtk.encoders.frames"):
        return {}
    companions: dict[str, Any] = importlib.import_module(module).companions
    return companions
