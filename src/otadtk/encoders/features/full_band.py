"""Weight-free features of what lies above 8 kHz, where 16 kHz networks hear nothing.

The audio is read at 48 kHz whatever the rate of its file. A file of a lower rate has nothing above
its own half, which counts as empty: a 16 kHz file and one of 44.1 kHz that was cut at 8 kHz have
the same features, all 0. What lies 60 dB below the whole counts as empty too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

VERSION = "fullband/1"
RATE = 48_000
_EDGES_HZ = (8000, 10_000, 12_000, 14_000, 16_000, 18_000, 20_000)
NAMES = (
    *(f"above_{low}" for low in _EDGES_HZ[:-1]),
    *("edge", "roll_off", "unevenness", "unsteadiness", "loudest"),
)
COUNT = len(NAMES)
_SILENT = 1e-4
_SMALLEST = 192
_FLOOR = 1e-6
"""The share of a sound's power that counts as nothing: 60 dB below the whole."""
_STEP_HZ = 500
_WINDOW = 1536
_QUIET = 1e-4


def full_band_features(waveform: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """The measurements ``(COUNT,)`` of a mono waveform, all of order one; 0 where nothing is there."""
    from scipy.fft import rfft  # slow to import, and cached features need none of it

    sounding = np.flatnonzero(np.abs(waveform) > _SILENT)
    if len(sounding) < _SMALLEST:
        return np.zeros(COUNT, dtype=np.float32)
    sound = waveform[sounding[0] : sounding[-1] + 1].astype(np.float32)
    size = round(_WINDOW * rate / RATE)
    hop = size // 2
    sound = np.pad(sound, (0, max(0, size + hop - len(sound))))
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop]
    power = np.square(np.abs(rfft(frames * window, axis=1)))
    hertz = np.arange(power.shape[1]) * rate / size
    level = power.sum(axis=1, dtype=np.float64)
    whole = float(level.mean()) + 1e-12
    steps = np.arange(_EDGES_HZ[0], _EDGES_HZ[-1] + 1, _STEP_HZ)
    places = np.searchsorted(hertz, steps)
    mean = power.mean(axis=0, dtype=np.float64) / whole
    shares = np.array([mean[low:high].sum() for low, high in pairwise(places)])
    loud = level > _QUIET * float(level.max())
    high = power[:, places[0] : places[-1]].sum(axis=1, dtype=np.float64)[loud] / whole
    return np.array([*_bands(shares), *_shape(shares), *_over_time(high)], dtype=np.float32)


def _bands(shares: NDArray[np.float64]) -> list[float]:
    """The share of each band of 2 kHz in decades above the floor."""
    wide = shares.reshape(len(_EDGES_HZ) - 1, -1).sum(axis=1)
    return np.log10(wide / _FLOOR + 1.0).tolist()  # type: ignore[no-any-return]


def _shape(shares: NDArray[np.float64]) -> list[float]:
    """Where the band ends, where most of it lies, and how uneven it is; 0 to 3 each way."""
    total = float(shares.sum())
    there = np.flatnonzero(shares > _FLOOR)
    edge = (int(there[-1]) + 1) / len(shares) if len(there) else 0.0
    most = (int(np.searchsorted(np.cumsum(shares), 0.95 * total)) + 1) / len(shares)
    uneven = np.log10(total / len(shares) + _FLOOR) - np.log10(shares + _FLOOR).mean()
    # what is hardly there has no roll-off
    return [3.0 * edge, 3.0 * most * total / (total + 10 * _FLOOR), float(uneven)]


def _over_time(high: NDArray[np.float64]) -> list[float]:
    """How unsteady what lies above 8 kHz is, and how loud where it is loudest."""
    level = np.log10(high / (10 * _FLOOR) + 1.0)
    return [2.0 * float(level.std()), float(np.quantile(level, 0.95))]
