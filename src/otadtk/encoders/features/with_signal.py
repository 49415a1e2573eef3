"""``<model>+signal``: the clip vectors of an encoder, followed by weight-free signal features."""

from __future__ import annotations

from otadtk.encoders.features import signal
from otadtk.encoders.features.measured import Measurement, with_measurement
from otadtk.encoders.spec import EncoderSpec

MEASUREMENT = Measurement("signal", signal.VERSION, signal.COUNT, signal.signal_features)
SUFFIX = MEASUREMENT.suffix
SIGNAL = MEASUREMENT.spec
"""The key of stored signal features; nothing loads it as an encoder."""


def with_signal(spec: EncoderSpec) -> EncoderSpec:
    """The model that gives the vectors of ``spec`` with the signal features behind them."""
    return with_measurement(spec, MEASUREMENT, f"{__name__}:MEASUREMENT")


def inner_spec(spec: EncoderSpec) -> EncoderSpec | None:
    """The encoder inside a model with signal features; ``None`` for any other."""
    return spec.inner if spec.name.endswith(SUFFIX) else None
