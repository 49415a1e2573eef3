"""``<model>+texture``: the clip vectors of an encoder, followed by weight-free texture features."""

from __future__ import annotations

from otadtk.encoders.features import texture
from otadtk.encoders.features.measured import Measurement, with_measurement
from otadtk.encoders.spec import EncoderSpec

MEASUREMENT = Measurement("texture", texture.VERSION, texture.COUNT, texture.texture_features)


def with_texture(spec: EncoderSpec) -> EncoderSpec:
    """The model that gives the vectors of ``spec`` with the texture features behind them."""
    return with_measurement(spec, MEASUREMENT, f"{__name__}:MEASUREMENT")
