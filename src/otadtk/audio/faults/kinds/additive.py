"""Faults that add something: noise, hum, lines, clicks, a second sound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.ndimage import uniform_filter1d

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import edge_of, peak_of, smooth_noise, with_added
from otadtk.audio.perturb import add_hum, add_noise

KINDS = Family("additive")
CLICK = np.array([1.0, -0.7, 0.4, -0.2])


@KINDS.add("noise against the clip, dB", mild=-75.0, gross=30.0)
def noise(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """White noise."""
    return add_noise(signal.astype(np.float32), rng, snr_db=-decibels).astype(np.float64)


def _coloured(length: int, rate: int, rng: np.random.Generator, slope: float, low: float) -> Signal:
    """Noise whose power falls with a power of frequency above ``low`` Hz."""
    spectrum = rfft(rng.standard_normal(length))
    frequencies = np.maximum(np.linspace(0.0, rate / 2, len(spectrum)), low)
    return np.asarray(irfft(spectrum * frequencies ** (-slope / 2), length))


@KINDS.add("noise against the clip, dB", mild=-75.0, gross=30.0)
def pink_noise(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Pink noise."""
    return with_added(signal, _coloured(len(signal), rate, rng, 1.0, 20.0), decibels)


@KINDS.add("rumble against the clip, dB", mild=-60.0, gross=45.0)
def rumble(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Low rumble."""
    return with_added(signal, _coloured(len(signal), rate, rng, 4.0, 60.0), decibels)


@KINDS.add("noise against the clip, dB", mild=-75.0, gross=30.0)
def following_noise(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Noise that comes and goes with the sound."""
    window = max(1, int(rng.uniform(0.005, 0.05) * rate))
    level = np.sqrt(np.maximum(uniform_filter1d(np.square(signal), window), 0.0))
    return with_added(signal, rng.standard_normal(len(signal)) * level, decibels)


@KINDS.add("hum against the clip, dB", mild=-75.0, gross=35.0)
def hum(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Mains hum of 50 or 60 Hz with its harmonics."""
    return add_hum(signal.astype(np.float32), rate, rng, level_db=decibels).astype(np.float64)


@KINDS.add("lines against the clip, dB", mild=-80.0, gross=35.0)
def tones(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """One to four constant lines above 400 Hz."""
    time = np.arange(len(signal)) / rate
    top = min(max(edge_of(signal, rate), 0.3 * rate), 0.48 * rate)
    made = np.zeros(len(signal))
    for _ in range(int(rng.integers(1, 5))):
        hertz = float(np.exp(rng.uniform(np.log(min(400.0, top)), np.log(top))))
        made += np.sin(2 * np.pi * hertz * time + rng.uniform(0, 2 * np.pi))
    return with_added(signal, made, decibels)


@KINDS.add("line against the clip, dB", mild=-80.0, gross=35.0)
def whistle(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """A line that glides and comes and goes."""
    centre = float(np.exp(rng.uniform(np.log(0.05 * rate), np.log(0.3 * rate))))
    glide = np.tanh(smooth_noise(len(signal), rng.uniform(0.1, 0.5) * rate, rng))
    swell = np.maximum(smooth_noise(len(signal), rng.uniform(0.1, 0.4) * rate, rng) + 0.7, 0.05)
    turns = np.cumsum(centre * 2 ** (0.6 * glide)) / rate + rng.random()
    return with_added(signal, np.sin(2 * np.pi * turns) * swell, decibels)


def _clicks(length: int, starts: NDArray[np.int64], heights: Signal, rate: int) -> Signal:
    """A click of each height at each place; the same click at every rate."""
    shape = np.repeat(CLICK, max(1, round(rate / 16_000)))
    made = np.zeros(length + len(shape))
    for offset, part in enumerate(shape):
        np.add.at(made, starts + offset, heights * part)
    return made[:length]


@KINDS.add("height against the clip's peak, dB", mild=-70.0, gross=20.0)
def clicks(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """One to eight clicks a second."""
    count = max(1, round(float(rng.uniform(1.0, 8.0)) * len(signal) / rate))
    starts = rng.integers(0, len(signal), count)
    heights = rng.choice([-1.0, 1.0], count) * rng.uniform(0.5, 1.0, count)
    heights *= peak_of(signal) * 10 ** (decibels / 20)
    return signal + _clicks(len(signal), starts, heights, rate)


@KINDS.add("crackle against the clip, dB", mild=-75.0, gross=30.0)
def crackle(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """40 to 300 clicks a second of very unequal heights."""
    count = max(1, round(float(rng.uniform(40.0, 300.0)) * len(signal) / rate))
    starts = rng.integers(0, len(signal), count)
    heights = rng.standard_cauchy(count).clip(-20.0, 20.0)
    return with_added(signal, _clicks(len(signal), starts, heights, rate), decibels)


@KINDS.add("second sound against the clip, dB", mild=-70.0, gross=30.0)
def overlay(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Another place of the same clip, played backwards, under it."""
    turn = int(rng.integers(0, len(signal)))
    return with_added(signal, np.roll(signal[::-1], turn), decibels)
