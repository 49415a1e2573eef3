"""The samples themselves: level, offset, asymmetry, and how many steps they use."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from otadtk.encoders.features.texture.spectrogram import Floats

NAMES = ("level", "peak", "offset", "skewness", "asymmetry", "levels_used", "step", "zeros")
_FULL_SCALE = 32767
_MOST_COUNTED = 1 << 20
"""Samples far beyond full scale would need a large table of counts."""


def measure(waveform: Floats) -> list[float]:
    """All of them, of the waveform at its own level."""
    x = waveform.astype(np.float64)
    squares = x * x
    mean, square = float(x.mean()), float(squares.mean())
    level, spread = math.sqrt(square), math.sqrt(max(square - mean**2, 0.0)) + 1e-9
    third = float((squares * x).mean()) - 3 * mean * square + 2 * mean**3  # about the mean
    steps = np.round(x * _FULL_SCALE).astype(np.int64)
    used = _distinct(steps)
    widths = np.diff(used)
    widest = float(np.median(widths)) if len(widths) else 1.0
    possible = min(len(x), 2 * int(np.abs(steps).max()) + 2)
    return [
        float(np.log10(level + 1e-4)),
        float(np.log10(np.abs(x).max() + 1e-3)),
        float(np.log10(abs(mean) / (level + 1e-6) + 1e-4)),
        math.tanh(third / spread**3),
        float(np.log10(max(x.max(), 0.0) + 1e-3) - np.log10(max(-x.min(), 0.0) + 1e-3)),
        float(np.log10((len(used) + 1) / possible)),
        float(np.log10(widest / _FULL_SCALE / (level + 1e-5) + 1e-4)),
        float(np.log10((steps == 0).mean() + 1e-3)),
    ]


def _distinct(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values in order; by counting, which is many times faster than sorting."""
    lowest = int(steps.min())
    if int(steps.max()) - lowest > _MOST_COUNTED:
        return np.unique(steps)
    return np.flatnonzero(np.bincount(steps - lowest)) + lowest
