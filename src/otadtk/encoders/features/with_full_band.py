"""``<model>+fullband``: an encoder's clip vectors, followed by features of what lies above 8 kHz."""

from __future__ import annotations

from otadtk.encoders.features import full_band
from otadtk.encoders.features.measured import Measurement, with_measurement
from otadtk.encoders.spec import EncoderSpec

MEASUREMENT = Measurement(
    "fullband",
    full_band.VERSION,
    full_band.COUNT,
    full_band.full_band_features,
    rate=full_band.RATE,
)


def with_full_band(spec: EncoderSpec) -> EncoderSpec:
    """The model that reads audio at 48 kHz, with the full-band features behind its vectors."""
    return with_measurement(spec, MEASUREMENT, f"{__name__}:MEASUREMENT")
