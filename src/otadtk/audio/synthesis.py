"""A seeded synthesiser of recognisable sounds, for the demo, the examples and the tests.

Each kind is a function of (seconds, rate, generator) that gives a mono waveform; ``synthesise``
sets its loudness. No two seeds give the same clip.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

Waveform = NDArray[np.float32]
Signal = NDArray[np.float64]


def synthesise(kind: str, seed: int, seconds: float = 3.0, rate: int = 16_000) -> Waveform:
    """One clip of a kind, at a peak between 0.3 and 0.9.

    >>> from otadtk.audio.synthesis import synthesise
    >>> synthesise("bell", seed=1, seconds=0.5).shape
    (8000,)
    """
    rng = np.random.default_rng([seed, *kind.encode()])
    signal = KINDS[kind](seconds, rate, rng)
    signal = signal + 1e-4 * rng.standard_normal(len(signal))  # the floor of any recording
    signal *= rng.uniform(0.3, 0.9) / np.abs(signal).max()
    return signal.astype(np.float32)


def _time(seconds: float, rate: int) -> Signal:
    return np.arange(round(seconds * rate)) / rate


def _band(signal: Signal, rate: int, low: float, high: float) -> Signal:
    sos = butter(2, [low, min(high, 0.45 * rate)], btype="bandpass", fs=rate, output="sos")
    return np.asarray(sosfilt(sos, signal))


def _onsets(seconds: float, rng: np.random.Generator, gap: float) -> Signal:
    """Times of events that come about every ``gap`` seconds, the first soon."""
    gaps = rng.uniform(0.6, 1.4, size=int(seconds / gap) + 2) * gap
    times = np.cumsum(gaps) - gaps[0] + rng.uniform(0.0, 0.2 * gap)
    return np.asarray(times[times < seconds - 0.05])


def impacts(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """Knocks on wood: short noise bursts through low resonances."""
    t = _time(seconds, rate)
    signal = np.zeros_like(t)
    pitch, gap = rng.uniform(120, 320), rng.uniform(0.25, 0.7)
    for onset in _onsets(seconds, rng, gap):
        s = np.maximum(t - onset, 0.0)
        body = sum(
            np.sin(2 * np.pi * pitch * ratio * s) * np.exp(-s * decay)
            for ratio, decay in ((1.0, 25.0), (2.3, 40.0), (4.1, 70.0))
        )
        burst = rng.standard_normal(len(t)) * np.exp(-s * 150.0)
        signal += rng.uniform(0.6, 1.0) * (body + 0.5 * burst) * (t >= onset)
    return signal


def rain(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """Broad noise with many small drops."""
    t = _time(seconds, rate)
    wash = _band(rng.standard_normal(len(t)), rate, rng.uniform(400, 900), 7000)
    drops = rng.standard_normal(len(t)) * (rng.random(len(t)) < rng.uniform(100, 400) / rate)
    patter = _band(lfilter([1.0], [1.0, -0.9], drops), rate, 1500, 6000)
    return 0.3 * wash + rng.uniform(1.0, 2.0) * patter


def engine(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """An engine: harmonics of a wavering fundamental, amplitude-modulated, over a rumble."""
    t = _time(seconds, rate)
    base, wobble = rng.uniform(40, 110), rng.uniform(0.3, 1.5)
    frequency = base * (1 + 0.05 * np.sin(2 * np.pi * wobble * t + rng.uniform(0, 6)))
    phase = 2 * np.pi * np.cumsum(frequency) / rate
    tilt = rng.uniform(0.9, 1.6)
    hum = sum(np.sin(k * phase + rng.uniform(0, 6)) / k**tilt for k in range(1, 18))
    firing = 1 + 0.4 * np.sin(phase / 2)
    rumble = _band(rng.standard_normal(len(t)), rate, 40, 400)
    return np.asarray(hum * firing + 0.4 * rumble)


def chirps(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """A bird: short whistles that sweep up or down between 2 and 6 kHz."""
    t = _time(seconds, rate)
    signal = np.zeros_like(t)
    centre, sweep = rng.uniform(2500, 4500), rng.uniform(-1500, 1500)
    gap, length = rng.uniform(0.15, 0.5), rng.uniform(0.05, 0.12)
    for onset in _onsets(seconds, rng, gap):
        s = t - onset
        envelope = np.where((s > 0) & (s < length), np.sin(np.pi * s / length) ** 2, 0.0)
        whistle = np.sin(2 * np.pi * (centre * s + sweep * s**2 / (2 * length)))
        signal += rng.uniform(0.5, 1.0) * envelope * whistle
    return signal


def bell(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """Strokes on a bell: inharmonic partials that ring on."""
    t = _time(seconds, rate)
    signal = np.zeros_like(t)
    pitch = rng.uniform(350, 1100)
    partials = (
        (0.5, 1.2),
        (1.0, 1.6),
        (1.19, 2.2),
        (1.56, 3.0),
        (2.0, 3.5),
        (2.74, 5.0),
        (3.76, 7.0),
    )
    for onset in _onsets(seconds, rng, rng.uniform(0.8, 1.8)):
        s = np.maximum(t - onset, 0.0)
        for ratio, decay in partials:
            if pitch * ratio < 0.45 * rate:
                signal += np.sin(2 * np.pi * pitch * ratio * s) * np.exp(-s * decay) * (t >= onset)
    return signal


_VOWELS = (
    (800, 1200, 2500),
    (300, 2300, 3000),
    (350, 800, 2400),
    (500, 1800, 2500),
    (450, 900, 2500),
)


def speech(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """Speech-like syllables: a buzzing source through the formants of changing vowels."""
    t = _time(seconds, rate)
    pitch = rng.uniform(90, 230) * (1 + 0.08 * np.sin(2 * np.pi * rng.uniform(0.5, 1.5) * t))
    source = np.diff(np.floor(np.cumsum(pitch) / rate), prepend=0.0)
    source += 0.02 * rng.standard_normal(len(t))
    signal = np.zeros_like(t)
    edges = np.append(_onsets(seconds, rng, rng.uniform(0.18, 0.3)), seconds)
    for start, stop in pairwise(edges):
        vowel = _VOWELS[rng.integers(len(_VOWELS))]
        voiced = sum(_resonance(source, rate, hertz * rng.uniform(0.95, 1.05)) for hertz in vowel)
        s = (t - start) / (0.85 * (stop - start))
        signal += voiced * np.sqrt(np.sin(np.pi * np.clip(s, 0.0, 1.0)).clip(0.0))
    return signal


def _resonance(source: Signal, rate: int, hertz: float) -> Signal:
    """A two-pole resonator of 90 Hz bandwidth."""
    radius = np.exp(-np.pi * 90.0 / rate)
    return np.asarray(
        lfilter(
            [1 - radius], [1, -2 * radius * np.cos(2 * np.pi * hertz / rate), radius**2], source
        )
    )


def wind(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """Wind: low noise whose loudness comes and goes."""
    t = _time(seconds, rate)
    gusts = 1 + 0.8 * np.sin(2 * np.pi * rng.uniform(0.15, 0.6) * t + rng.uniform(0, 6))
    low = rng.uniform(80, 200)
    return gusts * _band(rng.standard_normal(len(t)), rate, low, low * rng.uniform(3, 8))


def alarm(seconds: float, rate: int, rng: np.random.Generator) -> Signal:
    """An alarm: two tones in turn, with square-wave edges."""
    t = _time(seconds, rate)
    low, pace = rng.uniform(500, 1200), rng.uniform(1.5, 4.0)
    frequency = np.where(np.sin(2 * np.pi * pace * t) > 0, low, low * rng.uniform(1.2, 1.6))
    return np.asarray(np.tanh(3 * np.sin(2 * np.pi * np.cumsum(frequency) / rate)))


KINDS: dict[str, Callable[[float, int, np.random.Generator], Signal]] = {
    "impacts": impacts,
    "rain": rain,
    "engine": engine,
    "chirps": chirps,
    "bell": bell,
    "speech": speech,
    "wind": wind,
    "alarm": alarm,
}
