"""Faults of level: clipping, wrong or moving gain, gaps, cut ends, offsets, polarity, silence."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import lfilter

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import peak_of, pieces_of, smooth_noise, with_power_of

KINDS = Family("level")


def _sounding(signal: Signal, rate: int) -> tuple[int, int]:
    """The first and the last place at which the clip is within 50 dB of its loudest."""
    level = uniform_filter1d(np.abs(signal), max(1, int(0.005 * rate)))
    loud = np.flatnonzero(level >= 0.003 * level.max())
    return int(loud[0]), int(loud[-1]) + 1


@KINDS.add("drive, dB", mild=0.05, gross=50.0, geometric=True)
def clipping(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Driven above the clip's own peak and cut off there."""
    peak = peak_of(signal)
    return np.clip(signal * 10 ** (decibels / 20), -peak, peak)


@KINDS.add("drive, dB", mild=-35.0, gross=50.0)
def soft_clipping(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Driven through a bent curve, with even harmonics, at the old level."""
    bias = float(rng.uniform(-0.4, 0.4))
    bent = np.tanh(signal / peak_of(signal) * 10 ** (decibels / 20) + bias) - np.tanh(bias)
    return with_power_of(bent, signal)


@KINDS.add("drive, dB", mild=0.02, gross=30.0, geometric=True)
def overflow(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Driven above the peak, where integers wrap round to the other sign."""
    peak = peak_of(signal)
    return (signal * 10 ** (decibels / 20) + peak) % (2 * peak) - peak


@KINDS.add("dB", mild=0.1, gross=50.0, geometric=True)
def gain(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Too soft, or too loud where there is room below full scale."""
    louder = bool(rng.random() < 0.5) and peak_of(signal) * 10 ** (decibels / 20) <= 1.0
    return signal * 10 ** ((decibels if louder else -decibels) / 20)


@KINDS.add("exponent of the level", mild=0.01, gross=1.5, geometric=True)
def pumping(signal: Signal, rate: int, rng: np.random.Generator, exponent: float) -> Signal:
    """A compressor with slow release: loud sounds duck what follows, pauses swell."""
    keep = np.exp(-1.0 / (float(rng.uniform(0.03, 0.3)) * rate))
    slow = np.asarray(lfilter([1.0 - keep], [1.0, -keep], np.abs(signal)))
    slow = np.maximum(slow, 1e-3 * slow.max() + 1e-9)
    return with_power_of(signal * (slow / slow.max()) ** -exponent, signal)


@KINDS.add("greatest change, dB", mild=0.1, gross=60.0, geometric=True)
def gain_steps(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """The gain jumps two to eight times a second."""
    first, last = _sounding(signal, rate)
    count = max(2, round(float(rng.uniform(2.0, 8.0)) * (last - first) / rate))
    edges = np.sort(rng.integers(first, last, count))
    levels = rng.uniform(-1.0, 1.0, count + 1)
    levels *= decibels / max(float(np.abs(levels).max()), 1e-9)
    steps = levels[np.searchsorted(edges, np.arange(len(signal)), side="right")]
    return with_power_of(signal * 10 ** (steps / 20), signal)


@KINDS.add("depth", mild=0.005, gross=1.0, geometric=True)
def tremolo(signal: Signal, rate: int, rng: np.random.Generator, depth: float) -> Signal:
    """The level swings 3 to 80 times a second."""
    hertz = float(np.exp(rng.uniform(np.log(3.0), np.log(80.0))))
    swing = np.sin(2 * np.pi * hertz * np.arange(len(signal)) / rate + rng.uniform(0, 2 * np.pi))
    return with_power_of(signal * (1.0 - depth * (0.5 + 0.5 * swing)), signal)


@KINDS.add("deviation, dB", mild=0.1, gross=40.0, geometric=True)
def wobble(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """The level wanders at random."""
    curve = smooth_noise(len(signal), rng.uniform(0.03, 0.3) * rate, rng)
    return with_power_of(signal * 10 ** (np.clip(curve, -3.0, 1.5) * decibels / 20), signal)


@KINDS.add("depth", mild=0.003, gross=1.0, geometric=True)
def seams(signal: Signal, rate: int, rng: np.random.Generator, depth: float) -> Signal:
    """Dips at regular distances, as where a clip was made in chunks of 50 to 500 ms."""
    chunk = max(4.0, min(float(rng.uniform(0.05, 0.5)) * rate, len(signal) / 2))
    width = float(rng.uniform(0.005, 0.03)) * rate
    first, last = _sounding(signal, rate)
    place = (np.arange(len(signal)) - float(rng.integers(first, last))) % chunk
    distance = np.minimum(place, chunk - place)
    return np.asarray(signal * (1.0 - depth * np.clip(1.0 - distance / width, 0.0, 1.0)))


@KINDS.add("share of the peak", mild=0.001, gross=1.0, geometric=True)
def offset(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """A constant added: only its start and end are heard."""
    return signal + float(rng.choice([-1.0, 1.0])) * share * peak_of(signal)


@KINDS.add("share of the clip", mild=0.002, gross=0.98, geometric=True)
def dropouts(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Gaps of 5 to 100 ms with hard edges."""
    made = signal.copy()
    piece = float(np.exp(rng.uniform(np.log(0.005), np.log(0.1)))) * rate
    for place in pieces_of(signal, piece, share, rng):
        made[place] = 0.0
    return made


@KINDS.add("share of the sounding part", mild=0.001, gross=0.9, geometric=True)
def cut_start(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """The attack is missing: the sound is there at once."""
    first, last = _sounding(signal, rate)
    made = signal.copy()
    made[: first + max(1, round(share * (last - first)))] = 0.0
    return made


@KINDS.add("share of the sounding part", mild=0.001, gross=0.9, geometric=True)
def cut_end(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """The decay is missing: the sound stops at once."""
    first, last = _sounding(signal, rate)
    made = signal.copy()
    made[last - max(1, round(share * (last - first))) :] = 0.0
    return made


@KINDS.add("per second", mild=0.3, gross=200.0, geometric=True)
def polarity(signal: Signal, rate: int, rng: np.random.Generator, per_second: float) -> Signal:
    """The sign flips at random places."""
    count = max(1, round(per_second * len(signal) / rate))
    flips = np.zeros(len(signal), dtype=int)
    np.add.at(flips, rng.integers(0, len(signal), count), 1)
    return signal * (1.0 - 2.0 * (np.cumsum(flips) % 2))


@KINDS.add("share of the clip", mild=0.01, gross=1.0)
def silence(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """One stretch of digital silence with soft edges."""
    length = max(1, round(share * len(signal)))
    first, last = _sounding(signal, rate)
    start = int(np.clip(rng.integers(first, last) - length // 2, 0, len(signal) - length))
    mute = np.zeros(len(signal))
    mute[start : start + length] = 1.0
    fade = max(1, min(int(0.01 * rate), length // 4))
    return np.asarray(signal * (1.0 - uniform_filter1d(mute, fade)))
