"""Weight-free features of faults that generators leave behind: phase, grain, change, samples.

The signal features beside them see clipping, gaps, clicks and edges of the band. These see what
vocoders, codecs, denoisers and stretching do to the texture of a sound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from otadtk.encoders.features.texture import grain, motion, phase, samples
from otadtk.encoders.features.texture.spectrogram import Spectrogram

VERSION = "texture/1"
NAMES = (*phase.NAMES, *grain.NAMES, *motion.NAMES, *samples.NAMES)
COUNT = len(NAMES)
_SILENT = 1e-4
_SMALLEST = 64
_MOST = 50.0


def texture_features(waveform: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """The measurements ``(COUNT,)`` of a mono waveform, all of order one; zeros for silence.

    Digital silence before and after the sound is left out of every one of them.
    """
    sounding = np.flatnonzero(np.abs(waveform) > _SILENT)
    if len(sounding) < _SMALLEST:
        return np.zeros(COUNT, dtype=np.float32)
    sound = waveform[sounding[0] : sounding[-1] + 1].astype(np.float32)
    spectrogram = Spectrogram.of(sound / np.abs(sound).max(), rate)
    values = [
        *phase.measure(spectrogram),
        *grain.measure(spectrogram),
        *motion.measure(spectrogram),
        *samples.measure(sound),
    ]
    finite = np.nan_to_num(np.array(values), posinf=0.0, neginf=0.0)
    bounded: NDArray[np.float32] = np.clip(finite, -_MOST, _MOST).astype(np.float32)
    return bounded
