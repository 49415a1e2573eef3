"""``<model>+spectrum``: an encoder's clip vectors, followed by its spectrum by mel bands.

The mean and the deviation of 64 mel bands over the frames that sound. Layers of a network know
what is in a sound; how much of each frequency there is, which listeners notice first when they
compare a clip with its original, is told best by the spectrum itself.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.encoders.blocks.frontend import frame, log_mel_vggish
from otadtk.encoders.features.measured import Measurement, with_measurement
from otadtk.encoders.spec import EncoderSpec

VERSION = "spectrum/1"
_RATE = 16_000
_BANDS = 64
_WINDOW, _HOP = 400, 160
_LOG_OFFSET = 0.001
_SILENT = 1e-4
_FEWEST_FRAMES = 2


def spectrum_features(waveform: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """The mean, then the deviation, of the log of each mel band ``(128,)`` of a mono waveform.

    Frames of digital silence are left out, unless hardly any others are there.
    """
    if rate != _RATE:
        import soxr

        waveform = soxr.resample(waveform, rate, _RATE, quality="HQ")
    samples = torch.from_numpy(np.ascontiguousarray(waveform))
    missing = _WINDOW + (_FEWEST_FRAMES - 1) * _HOP - len(samples)
    samples = torch.nn.functional.pad(samples, (0, max(0, missing)))
    bands = log_mel_vggish(samples, _LOG_OFFSET)
    sounding = frame(samples.abs(), _WINDOW, _HOP).amax(dim=1) >= _SILENT
    if int(sounding.sum()) >= _FEWEST_FRAMES:
        bands = bands[sounding]
    features: NDArray[np.float32] = torch.cat([bands.mean(dim=0), bands.std(dim=0)]).numpy()
    return features


MEASUREMENT = Measurement("spectrum", VERSION, 2 * _BANDS, spectrum_features)


def with_spectrum(spec: EncoderSpec) -> EncoderSpec:
    """The model that gives the vectors of ``spec`` with the spectrum behind them."""
    return with_measurement(spec, MEASUREMENT, f"{__name__}:MEASUREMENT")
