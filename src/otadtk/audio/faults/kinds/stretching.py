"""Faults of phase vocoders and grains: stretching, shifting, and the smear that they leave."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import fitted, lengthened, smooth_noise, with_power_of
from otadtk.audio.faults.stft import (
    OVERLAP,
    Magnitudes,
    frame_size,
    signal_of,
    spectra_of,
    unit,
    wrapped,
)

KINDS = Family("stretching")


def stretched(signal: Signal, size: int, factor: float) -> Signal:
    """The signal ``factor`` times as long at the same pitch: a phase vocoder without phase lock."""
    spectra = spectra_of(signal, size)
    hop = size // OVERLAP
    times = np.arange(0.0, len(spectra) - 1.0, 1.0 / factor)
    expected = (2 * np.pi * hop / size * np.arange(spectra.shape[1])).astype(np.float32)
    angles = np.angle(spectra)
    turn = wrapped(np.diff(angles, axis=0) - expected)
    # the advance from one frame to the next is that of the middle between their times
    middle = np.clip(times + 0.5 / factor - 0.5, 0.0, len(turn) - 1.0)
    advance = expected + _between(turn, middle)[:-1]
    phases = np.cumsum(np.vstack([angles[:1], advance]), axis=0, dtype=np.float64) % (2 * np.pi)
    made = _between(np.abs(spectra), times) * unit(phases)
    whole = signal_of(made, (len(times) + OVERLAP) * hop)
    # the frame of silence before the clip was stretched, too; the middle of a frame stays in place
    lead = round((factor - 1.0) * (size // 2))
    shifted = whole[lead:] if lead >= 0 else np.pad(whole, (-lead, 0))
    return fitted(shifted, max(1, round(factor * len(signal))))


def _between(rows: Magnitudes, places: Signal) -> Magnitudes:
    """Rows at fractional places, linearly interpolated."""
    index = np.minimum(places.astype(int), max(0, len(rows) - 2))
    part = (places - index)[:, None].astype(np.float32)
    return np.asarray(rows[index] * (1 - part) + rows[np.minimum(index + 1, len(rows) - 1)] * part)


def _either(ratio: float, rng: np.random.Generator) -> float:
    """The ratio or its inverse."""
    return ratio if rng.random() < 0.5 else 1.0 / ratio


def _size(rate: int, rng: np.random.Generator) -> int:
    return frame_size(float(rng.choice([0.03, 0.06])), rate)


@KINDS.add("ratio of the stretch, less 1", mild=0.0005, gross=2.0, geometric=True)
def stretch_back(signal: Signal, rate: int, rng: np.random.Generator, excess: float) -> Signal:
    """Stretched by a phase vocoder and back again."""
    factor, size = _either(1.0 + excess, rng), _size(rate, rng)
    back = stretched(stretched(signal, size, factor), size, 1 / factor)
    return with_power_of(fitted(back, len(signal)), signal)


@KINDS.add("semitones", mild=0.005, gross=12.0, geometric=True)
def shift_back(signal: Signal, rate: int, rng: np.random.Generator, semitones: float) -> Signal:
    """Pitch shifted by a phase vocoder and back again."""
    factor, size = _either(2 ** (semitones / 12), rng), _size(rate, rng)
    there = lengthened(stretched(signal, size, factor), len(signal))
    return with_power_of(lengthened(stretched(there, size, 1 / factor), len(signal)), signal)


@KINDS.add("semitones", mild=0.005, gross=12.0, geometric=True)
def pitch_shift(signal: Signal, rate: int, rng: np.random.Generator, semitones: float) -> Signal:
    """Pitch shifted by a phase vocoder, up or down."""
    factor, size = _either(2 ** (semitones / 12), rng), _size(rate, rng)
    return with_power_of(lengthened(stretched(signal, size, factor), len(signal)), signal)


@KINDS.add("greatest error of place, s", mild=0.00003, gross=0.1, geometric=True)
def grain_jitter(signal: Signal, rate: int, rng: np.random.Generator, seconds: float) -> Signal:
    """Overlapping grains of 16 to 64 ms taken from places that are slightly off."""
    size = frame_size(float(rng.choice([0.02, 0.04, 0.08])), rate)
    hop = size // 2
    padded = np.pad(signal, size)
    starts = np.arange(0, len(padded) - size + 1, hop)
    off = np.rint(rng.uniform(-1.0, 1.0, len(starts)) * seconds * rate).astype(int)
    taken = np.clip(starts + off, 0, len(padded) - size)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    frames = padded[taken[:, None] + np.arange(size)] * window
    total = np.zeros((len(starts) + 1) * hop)
    total[: len(starts) * hop] += frames[:, :hop].ravel()
    total[hop:] += frames[:, hop:].ravel()
    return fitted(total[size:], len(signal))


@KINDS.add("greatest delay, s", mild=0.0001, gross=0.15, geometric=True)
def dispersion(signal: Signal, rate: int, rng: np.random.Generator, seconds: float) -> Signal:
    """An all-pass filter whose delay wanders with frequency."""
    length = next_fast_len(len(signal) + round(2 * seconds * rate) + 1, real=True)
    every = max(2.0, float(rng.uniform(100.0, 800.0)) * length / rate)
    delay = (1.0 + np.tanh(smooth_noise(length // 2 + 1, every, rng))) / 2 * seconds
    phase = -np.cumsum(delay) * 2 * np.pi * rate / length
    return np.asarray(irfft(rfft(signal, length) * np.exp(1j * phase), length))[: len(signal)]
