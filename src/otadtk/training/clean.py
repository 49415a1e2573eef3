"""More clean sounds to train on: synthetic tones, and excerpts of the clips.

What is played by a machine is not a fault. Recordings teach a network that very steady partials and
digital silence around a sound are odd. Tones with random spectra, envelopes, vibrato and a little
noise teach it that they are not. Nor is a clip odd because it is short or soft, as excerpts teach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otadtk.encoders.features.measured import Measurement

Signal = NDArray[np.float64]

TONES = 800
_LOWEST_HZ = 55.0
_OCTAVES = 4.5
_MOST_PARTIALS = 60
_HIGHEST = 0.48
"""Of the rate: no partial lies above."""


def tone_features(
    measurements: Sequence[Measurement], rate: int, seed: int, count: int = TONES
) -> NDArray[np.float32]:
    """The measurements ``(count, features)`` of random tones, side by side."""
    rng = np.random.default_rng([seed, 6])
    tones = [make_tone(rng, rate) for _ in range(count)]
    return np.stack([np.concatenate([m.measure(t, rate) for m in measurements]) for t in tones])


def make_tone(rng: np.random.Generator, rate: int) -> NDArray[np.float32]:
    """One tone of 0.2 to 3 s, rounded to 16 bits."""
    time = np.arange(int(rate * 10 ** rng.uniform(-0.7, 0.5))) / rate
    tone = _faded(_with_noise(_partials(time, rng, rate), rng), rng, rate)
    tone = tone / (np.abs(tone).max() + 1e-9) * 10 ** (rng.uniform(-20.0, -0.5) / 20)
    rounded: NDArray[np.float32] = (np.round(tone * 32767.0) / 32767.0).astype(np.float32)
    return rounded


def _partials(time: Signal, rng: np.random.Generator, rate: int) -> Signal:
    """Partials with a random slope, perhaps a formant, vibrato, a decay and stretched octaves."""
    base = _LOWEST_HZ * 2 ** rng.uniform(0.0, _OCTAVES)
    number = np.arange(1, 1 + int(rng.integers(1, _MOST_PARTIALS)))
    stretch = 10 ** rng.uniform(-6.0, -3.3) if rng.random() < 0.4 else 0.0
    hertz = number * base * np.sqrt(1.0 + stretch * number**2)
    size = number ** -rng.uniform(0.3, 3.0)
    if rng.random() < 0.3:
        size[1::2] *= rng.uniform(0.0, 0.5)
    if rng.random() < 0.5:
        centre, width = rng.uniform(300.0, 4000.0), rng.uniform(200.0, 1500.0)
        size = size * (1.0 + rng.uniform(0.0, 6.0) * np.exp(-(((hertz - centre) / width) ** 2)))
    depth = rng.uniform(0.0, 0.01) if rng.random() < 0.4 else 0.0
    speed = 1.0 + depth * np.sin(2 * np.pi * rng.uniform(3.0, 8.0) * time)
    turns = np.cumsum(speed) / rate
    decay = rng.uniform(0.0, 3.0) if rng.random() < 0.5 else 0.0
    tone = np.zeros(len(time))
    for k, (one, amplitude) in enumerate(zip(hertz.tolist(), size.tolist(), strict=True)):
        phase = rng.uniform(0.0, 2 * np.pi)
        if one < _HIGHEST * rate:
            fall = np.exp(-decay * (1.0 + 0.2 * k) * time)
            tone += amplitude * fall * np.sin(2 * np.pi * one * turns + phase)
    return tone


def _with_noise(tone: Signal, rng: np.random.Generator) -> Signal:
    """Half of the tones with white noise, 20 to 70 dB below."""
    if rng.random() < 0.5:
        return tone
    noise = rng.standard_normal(len(tone)) * tone.std()
    louder: Signal = tone + noise * 10 ** (rng.uniform(-70.0, -20.0) / 20)
    return louder


def _faded(tone: Signal, rng: np.random.Generator, rate: int) -> Signal:
    """A smooth start of 2 to 160 ms and a smooth end of 3 to 300 ms."""
    start = int(rate * 10 ** rng.uniform(-2.7, -0.8))
    end = int(rate * 10 ** rng.uniform(-2.5, -0.5))
    start, end = (max(1, min(part, len(tone) // 2)) for part in (start, end))
    tone = tone.copy()
    tone[:start] *= 0.5 - 0.5 * np.cos(np.pi * np.arange(start) / start)
    tone[len(tone) - end :] *= 0.5 + 0.5 * np.cos(np.pi * np.arange(end) / end)
    return tone


def excerpt(
    waveform: NDArray[np.float32], rate: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """A random part of 0.25 to 2.5 s with soft ends, its peak between -24 dB and full scale."""
    length = int(rate * 10 ** rng.uniform(-0.6, 0.4))
    first = int(rng.integers(max(1, len(waveform) - length + 1)))
    part = waveform[first : first + length].astype(np.float64)
    if not len(part):
        return waveform
    for ramp, seconds in ((part, (-2.3, -1.2)), (part[::-1], (-2.0, -0.8))):
        soft = max(1, min(int(rate * 10 ** rng.uniform(*seconds)), len(part) // 3))
        ramp[:soft] *= 0.5 - 0.5 * np.cos(np.pi * np.arange(soft) / soft)
    part *= 10 ** (rng.uniform(-24.0, -0.3) / 20) / (np.abs(part).max() + 1e-9)
    return part.astype(np.float32)
