"""Short-time spectra, their inverse, and mel bands, in single precision for speed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from otadtk.audio.faults.fault import Signal
from otadtk.audio.faults.samples import fitted

Spectra = NDArray[np.complex64]
"""Frames by bins."""
Magnitudes = NDArray[np.float32]
OVERLAP = 4
"""Frames over every sample."""
SIZES = (0.016, 0.032, 0.064)
"""Lengths of a frame, in seconds, of which most faults draw one."""


def frame_size(seconds: float, rate: int) -> int:
    """The power of two nearest to a duration in samples, at least 16."""
    return int(2 ** max(4, round(np.log2(seconds * rate))))


def any_size(rate: int, rng: np.random.Generator) -> int:
    """The size of one of the usual frames, drawn at random."""
    return frame_size(float(rng.choice(SIZES)), rate)


def size_between(low: float, high: float, rate: int, rng: np.random.Generator) -> int:
    """The size of a frame between two durations in seconds, drawn by ratios."""
    return frame_size(float(np.exp(rng.uniform(np.log(low), np.log(high)))), rate)


def window_of(size: int) -> Magnitudes:
    """A periodic Hann window."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)


def spectra_of(signal: Signal, size: int) -> Spectra:
    """Short-time spectra; the clip is padded with zeros by one frame on both sides."""
    hop = size // OVERLAP
    padded = np.zeros(size + -(-len(signal) // hop) * hop + size, dtype=np.float32)
    padded[size : size + len(signal)] = signal
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    return np.asarray(rfft(frames * window_of(size), axis=1))


def signal_of(spectra: Spectra, length: int) -> Signal:
    """The signal of short-time spectra by weighted overlap-add: the inverse of ``spectra_of``."""
    size = 2 * (spectra.shape[1] - 1)
    hop = size // OVERLAP
    frames = irfft(spectra, n=size, axis=1) * (window_of(size) * np.float32(2.0 / 3.0))
    count = len(frames)
    total = np.zeros((count + OVERLAP - 1) * hop, dtype=np.float32)
    for part in range(OVERLAP):
        total[part * hop : (part + count) * hop] += frames[:, part * hop : (part + 1) * hop].ravel()
    return fitted(total[size:].astype(np.float64), length)


def unit(phase: NDArray[np.floating]) -> Spectra:
    """Complex numbers of modulus one."""
    return np.asarray(np.exp(1j * phase.astype(np.float32)), dtype=np.complex64)


def wrapped(phase: NDArray[np.float32]) -> NDArray[np.float32]:
    """Phases brought to between -π and π."""
    turn = np.float32(2 * np.pi)
    return np.asarray(phase - turn * np.round(phase / turn))


def mel_filters(bins: int, rate: int, bands: int) -> NDArray[np.float32]:
    """Triangles on the mel scale, bands by bins; none is narrower than one bin on either side."""
    frequencies = np.linspace(0.0, rate / 2, bins)
    top = 2595.0 * np.log10(1.0 + rate / 2 / 700.0)
    centres = 700.0 * (10 ** (np.linspace(0.0, top, bands) / 2595.0) - 1.0)
    step = frequencies[1]
    gaps = np.maximum(np.diff(centres, prepend=centres[0] - step, append=centres[-1] + step), step)
    rising = 1.0 - (centres[:, None] - frequencies) / gaps[:-1, None]
    falling = 1.0 - (frequencies - centres[:, None]) / gaps[1:, None]
    return np.asarray(np.maximum(np.minimum(rising, falling), 0.0), dtype=np.float32)


def through_bands(magnitudes: Magnitudes, rate: int, bands: int) -> Magnitudes:
    """Magnitudes averaged into mel bands and spread over the bins again."""
    filters = mel_filters(magnitudes.shape[1], rate, bands)
    power = np.square(magnitudes) @ (filters / filters.sum(axis=1, keepdims=True)).T
    weights = filters.sum(axis=0)
    return np.asarray(np.sqrt(power @ (filters / np.maximum(weights, 1e-6))))


def above(bins: int, rate: int, cutoff: float) -> NDArray[np.float32]:
    """Weights of the bins: 0 well below a frequency, 1 well above it, a soft step between."""
    frequencies = np.linspace(0.0, rate / 2, bins)
    width = max(0.06 * cutoff, rate / 2 / bins)
    return np.clip((frequencies - cutoff) / width + 0.5, 0.0, 1.0).astype(np.float32)
