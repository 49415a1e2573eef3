"""The spectrogram that all texture features are measured on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

BANDS_HZ = ((100.0, 1000.0), (1000.0, 3000.0), (3000.0, 7500.0))
_WINDOW_SECONDS = 0.032
_FEWEST_FRAMES = 8
_QUIET = 1e-5
"""Frames 50 dB below the loudest are left out: what they hold is mostly rounding."""
_RANGE_DB, _LEAST_DB = 75.0, -60.0


@dataclass(frozen=True, eq=False)
class Spectrogram:
    """Short-time spectra of a waveform with peak 1: windows of 32 ms every 8 ms."""

    waveform: Floats
    rate: int
    spectra: NDArray[np.complex64]
    """``(frames, bins)``."""

    @classmethod
    def of(cls, waveform: Floats, rate: int) -> Spectrogram:
        """The spectrogram of a waveform; a short one gets zeros behind it."""
        from scipy.fft import rfft  # slow to import, and cached features need none of it

        size = 4 * round(_WINDOW_SECONDS * rate / 4)
        hop = size // 4
        missing = size + (_FEWEST_FRAMES - 1) * hop - len(waveform)
        padded = np.pad(waveform, (0, missing)) if missing > 0 else waveform
        window = np.hanning(size + 1)[:-1].astype(np.float32)
        frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
        return cls(waveform, rate, rfft(frames * window, axis=1))

    @property
    def size(self) -> int:
        """Samples of a window."""
        return 2 * (int(self.spectra.shape[1]) - 1)

    @property
    def hop(self) -> int:
        """Samples between two windows."""
        return self.size // 4

    @cached_property
    def bands(self) -> tuple[slice, ...]:
        """The bins of each band."""
        width = self.rate / self.size
        return tuple(slice(round(low / width), round(high / width)) for low, high in BANDS_HZ)

    @cached_property
    def magnitude(self) -> Floats:
        """|X|."""
        return np.abs(self.spectra).astype(np.float32)

    @cached_property
    def power(self) -> Floats:
        """|X|²."""
        return self.magnitude**2

    @cached_property
    def band_power(self) -> tuple[Floats, ...]:
        """The power of each band, ``(frames,)``."""
        return tuple(self.power[:, band].sum(axis=1) for band in self.bands)

    @cached_property
    def loud(self) -> Mask:
        """Which frames are not quiet."""
        level = self.power.sum(axis=1)
        loud: Mask = level > max(_QUIET * float(level.max()), 1e-6)
        return loud if loud.any() else np.ones_like(loud)

    @cached_property
    def decibels(self) -> Floats:
        """10 · log10 |X|², with a floor."""
        decibels: Floats = np.float32(10.0) * np.log10(self.power + np.float32(1e-7))
        return decibels

    @cached_property
    def loud_decibels(self) -> Floats:
        """The levels of the frames that are not quiet."""
        return self.decibels if self.loud.all() else self.decibels[self.loud]

    @cached_property
    def mean_decibels(self) -> Floats:
        """The mean level of each bin over the frames that are not quiet."""
        mean: Floats = self.loud_decibels.mean(axis=0)
        return mean

    @cached_property
    def surroundings(self) -> Floats:
        """The mean level of 5 frames × 9 bins around each."""
        from scipy.ndimage import uniform_filter

        mean: Floats = uniform_filter(self.decibels, (5, 9), mode="nearest")
        return mean

    @cached_property
    def grain(self) -> Floats:
        """How far each bin lies above its surroundings, in dB."""
        return self.decibels - self.surroundings

    @cached_property
    def live(self) -> Mask:
        """Bins whose surroundings are loud enough to say something."""
        least = max(float(self.decibels.max()) - _RANGE_DB, _LEAST_DB)
        live: Mask = (self.surroundings > least) & self.loud[:, None]
        return live
