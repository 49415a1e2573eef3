"""The synthesised clips on which encoders are compared with what they said before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.synthesis import synthesise

CLIPS = {
    "bell": ("bell", 3, 2.0),
    "rain": ("rain", 5, 3.4),
    "speech, half a second": ("speech", 8, 0.5),
    "chirps": ("chirps", 1, 6.1),
}


def golden_clip(name: str) -> NDArray[np.float32]:
    kind, seed, seconds = CLIPS[name]
    return synthesise(kind, seed, seconds)
