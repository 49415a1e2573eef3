"""Faults of rooms and filters: reverberation, echoes, combs, resonances, tilt."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import (
    centre_of,
    filtered,
    frequencies_of,
    with_added,
    with_power_of,
)
from otadtk.audio.perturb import make_metallic

KINDS = Family("room")


def convolved(signal: Signal, response: Signal) -> Signal:
    """The signal through a filter, cut to its own length."""
    length = next_fast_len(len(signal) + len(response) - 1, real=True)
    whole = irfft(rfft(signal, length) * rfft(response, length), length)
    return np.asarray(whole)[: len(signal)]


def _delay(seconds: float, rate: int, length: int) -> int:
    """A delay in samples, at most a quarter of the clip, so that a short one still has it."""
    return int(np.clip(round(seconds * rate), 1, max(1, length // 4)))


@KINDS.add("tail against dry sound, dB", mild=-60.0, gross=25.0)
def reverberation(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """A decaying tail of noise, 0.15 to 1.5 s long."""
    seconds = float(np.exp(rng.uniform(np.log(0.15), np.log(1.5))))
    time = np.arange(max(2, int(seconds * rate))) / rate
    tail = rng.standard_normal(len(time)) * np.exp(-6.9 * time / seconds)
    tail[: int(np.clip(0.002 * rate, 1, len(signal) // 2))] = 0.0
    return with_power_of(with_added(signal, convolved(signal, tail), decibels), signal)


@KINDS.add("echo against dry sound, dB", mild=-60.0, gross=20.0)
def echo(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """One echo after 60 to 350 ms."""
    delay = _delay(float(rng.uniform(0.06, 0.35)), rate, len(signal))
    made = signal.copy()
    made[delay:] += signal[:-delay] * 10 ** (decibels / 20)
    return with_power_of(made, signal)


@KINDS.add("copy against dry sound, dB", mild=-70.0, gross=20.0)
def pre_echo(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """A blurred copy, 20 to 120 ms long, before the sound itself."""
    length = int(np.clip(float(rng.uniform(0.02, 0.12)) * rate, 1, max(1, len(signal) // 2)))
    burst = rng.standard_normal(length) * np.linspace(1.0, 0.2, length)
    before = convolved(signal[::-1], burst)[::-1]
    return with_power_of(with_added(signal, before, decibels), signal)


@KINDS.add("feedback", mild=0.002, gross=0.995, geometric=True)
def metallic(signal: Signal, rate: int, rng: np.random.Generator, feedback: float) -> Signal:
    """A comb filter with feedback after 2 to 14 ms."""
    delay = _delay(float(rng.uniform(0.002, 0.014)), rate, len(signal))
    sign = float(rng.choice([-1.0, 1.0]))
    clip, seconds = signal.astype(np.float32), (delay + 0.5) / rate
    return make_metallic(clip, rate, seconds=seconds, feedback=sign * feedback).astype(np.float64)


@KINDS.add("gain of the second channel", mild=0.002, gross=1.0, geometric=True)
def delayed_sum(signal: Signal, rate: int, rng: np.random.Generator, gain: float) -> Signal:
    """Two channels that are out of step mixed to one: a comb of notches."""
    delay = _delay(float(np.exp(rng.uniform(np.log(0.0003), np.log(0.008)))), rate, len(signal))
    made = signal.copy()
    made[delay:] += float(rng.choice([-1.0, 1.0])) * gain * signal[:-delay]
    return with_power_of(made, signal)


@KINDS.add("gain of the delayed sound", mild=0.002, gross=1.0, geometric=True)
def flanger(signal: Signal, rate: int, rng: np.random.Generator, gain: float) -> Signal:
    """A comb whose delay sweeps between 0 and 5 ms."""
    time = np.arange(len(signal))
    depth, speed = rng.uniform(0.001, 0.005) * rate, rng.uniform(0.2, 2.0)
    sweep = 1.0 + np.sin(2 * np.pi * speed * time / rate + rng.uniform(0, 2 * np.pi))
    delayed = np.interp(time - depth * sweep / 2 - 1.0, time, signal, left=0.0)
    return with_power_of(signal + gain * delayed, signal)


@KINDS.add("gain, dB", mild=0.2, gross=60.0, geometric=True)
def resonances(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Two to five narrow bands of the clip's own range raised."""
    frequencies = np.maximum(frequencies_of(signal, rate), 1.0)
    raised = np.zeros(len(frequencies))
    for share in rng.uniform(0.1, 0.9, int(rng.integers(2, 6))):
        distance = np.log2(frequencies / centre_of(signal, rate, share))
        raised += np.exp(-np.square(distance / rng.uniform(0.03, 0.15)))
    gain = 10 ** (decibels * np.minimum(raised, 1.0) / 20)
    return with_power_of(filtered(signal, gain), signal)


@KINDS.add("dB per octave", mild=0.02, gross=24.0, geometric=True)
def tilt(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Muffled, or less often shrill."""
    slope = decibels * float(rng.choice([-1.0, -1.0, 1.0]))
    octaves = np.log2(np.maximum(frequencies_of(signal, rate), 60.0) / 1000.0)
    return with_power_of(filtered(signal, 10 ** (slope * octaves / 20)), signal)
