"""Faults of time: speed that wavers; pieces repeated, frozen, exchanged, reversed or skipped."""

from __future__ import annotations

import numpy as np

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import lengthened, pieces_of, places_of, smooth_noise
from otadtk.audio.faults.stft import OVERLAP, frame_size, signal_of, spectra_of, unit, wrapped
from otadtk.audio.perturb import loop_fragment

KINDS = Family("timing")


def _at(signal: Signal, places: Signal) -> Signal:
    """The signal between its samples: cubic interpolation at four times the rate."""
    padded = np.pad(lengthened(signal, 4 * len(signal)), 2, mode="edge")
    places = 4.0 * np.clip(places, 0.0, len(signal) - 1.0)
    index, part = places.astype(int) + 2, places % 1.0
    before, here, after, later = (padded[index + k] for k in (-1, 0, 1, 2))
    slope, next_slope, rise = (after - before) / 2, (later - here) / 2, after - here
    square, cube = 3 * rise - 2 * slope - next_slope, slope + next_slope - 2 * rise
    return np.asarray(here + part * (slope + part * (square + part * cube)))


def _wavering(
    signal: Signal, rate: int, rng: np.random.Generator, depth: float, hertz: float
) -> Signal:
    """The signal at a speed that swings by ``depth`` so many times a second."""
    phase = rng.uniform(0, 2 * np.pi)
    swing = depth * rate / (2 * np.pi * hertz)
    turns = 2 * np.pi * hertz * np.arange(len(signal)) / rate
    return _at(signal, np.arange(len(signal)) + swing * (np.sin(turns + phase) - np.sin(phase)))


@KINDS.add("depth of the speed", mild=0.00003, gross=0.15, geometric=True)
def wow(signal: Signal, rate: int, rng: np.random.Generator, depth: float) -> Signal:
    """Speed that wavers 0.4 to 3 times a second."""
    # a short clip holds at least half a swing: it would only be shifted
    hertz = max(float(rng.uniform(0.4, 3.0)), 0.5 * rate / len(signal))
    return _wavering(signal, rate, rng, depth, hertz)


@KINDS.add("depth of the speed", mild=0.0001, gross=0.4, geometric=True)
def flutter(signal: Signal, rate: int, rng: np.random.Generator, depth: float) -> Signal:
    """Speed that wavers 6 to 40 times a second."""
    return _wavering(signal, rate, rng, depth, float(rng.uniform(6.0, 40.0)))


@KINDS.add("deviation of the speed", mild=0.00003, gross=0.15, geometric=True)
def drift(signal: Signal, rate: int, rng: np.random.Generator, depth: float) -> Signal:
    """Speed that changes at random."""
    speed = smooth_noise(len(signal), rng.uniform(0.05, 0.3) * rate, rng)
    return _at(signal, np.arange(len(signal)) + np.cumsum(speed - speed.mean()) * depth)


@KINDS.add("deviation, s", mild=1e-8, gross=0.0005, geometric=True)
def jitter(signal: Signal, rate: int, rng: np.random.Generator, seconds: float) -> Signal:
    """Every sample a little early or late, as by a bad clock."""
    return _at(signal, np.arange(len(signal)) + rng.standard_normal(len(signal)) * seconds * rate)


def _faded(made: Signal, places: list[slice], rate: int) -> Signal:
    """Short fades at the ends of pieces, so that a moved one makes no click."""
    fade = max(1, int(0.002 * rate))
    ramp = np.abs(np.linspace(-1.0, 1.0, 2 * fade + 1))
    for joint in {edge for place in places for edge in (place.start, place.stop)}:
        if fade <= joint < len(made) - fade:
            made[joint - fade : joint + fade + 1] *= ramp
    return made


@KINDS.add("share of the clip", mild=0.005, gross=1.0, geometric=True)
def shuffle(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Pieces of 60 to 300 ms exchanged."""
    starts, size = places_of(signal, rng.uniform(0.06, 0.3) * rate, rng, least=6)
    left = max(1, round(share * len(starts) * size / 2))  # samples still to be exchanged
    made, places = signal.copy(), []
    for first, second in zip(starts[::2], starts[1::2], strict=False):
        length = min(size, left)
        here, there = slice(first, first + length), slice(second, second + length)
        made[here], made[there] = signal[there], signal[here]
        places += [here, there]
        left -= length
        if left == 0:
            break
    return _faded(made, places, rate)


@KINDS.add("share of the clip", mild=0.01, gross=1.0)
def reversal(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Pieces of 30 to 150 ms played backwards."""
    places = pieces_of(signal, rng.uniform(0.03, 0.15) * rate, share, rng)
    made = signal.copy()
    for place in places:
        made[place] = signal[place][::-1]
    return _faded(made, places, rate)


@KINDS.add("share of the clip", mild=0.01, gross=1.0)
def stutter(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Pieces of 30 to 150 ms that repeat what came just before them."""
    made = signal.copy()
    for place in pieces_of(signal, rng.uniform(0.03, 0.15) * rate, share, rng):
        length = place.stop - place.start
        start = max(0, place.start - length)
        made[place] = np.resize(made[start : max(place.start, start + 1)].copy(), length)
    return made


@KINDS.add("share of the clip", mild=0.02, gross=1.0)
def freeze(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Stretches of 80 to 400 ms in which the spectrum stands still."""
    spectra = spectra_of(signal, frame_size(0.032, rate))
    hop = (spectra.shape[1] - 1) * 2 / OVERLAP
    inside = np.abs(spectra[2:-2]).mean(axis=1).astype(np.float64)
    piece = rng.uniform(0.08, 0.4) * rate / hop
    expected = (2 * np.pi / OVERLAP * np.arange(spectra.shape[1])).astype(np.float32)
    frozen = spectra.copy()
    for place in pieces_of(inside, piece, share, rng, least=3):
        first = 2 + place.start
        before, here = np.angle(spectra[first - 1]), np.angle(spectra[first])
        advance = expected + wrapped(here - before - expected)
        steps = np.arange(place.stop - place.start)[:, None]
        still = np.abs(spectra[first]) * unit((here + steps * advance) % (2 * np.pi))
        frozen[first : first + len(steps)] = still
    return signal_of(frozen, len(signal))


@KINDS.add("length of the fragment, s", mild=1.0, gross=0.03, geometric=True, aligned=False)
def loop(signal: Signal, rate: int, rng: np.random.Generator, seconds: float) -> Signal:
    """One sounding fragment repeated over the whole clip, at least twice."""
    shortened = min(seconds, len(signal) / rate / 2)
    looped = loop_fragment(signal.astype(np.float32), rate, rng, seconds=shortened)
    return looped.astype(np.float64)


@KINDS.add("per second", mild=0.3, gross=100.0, geometric=True, aligned=False)
def slips(signal: Signal, rate: int, rng: np.random.Generator, per_second: float) -> Signal:
    """Places at which 1 to 10 ms are skipped or played twice."""
    count = max(1, round(per_second * len(signal) / rate))
    size = np.minimum(rng.uniform(0.001, 0.01, count) * rate, max(1.0, len(signal) / 8))
    sign = rng.permutation(np.resize([1.0, -1.0], count))
    jumps = np.zeros(len(signal))
    np.add.at(jumps, rng.integers(0, len(signal), count), sign * np.rint(np.maximum(size, 1.0)))
    places = np.arange(len(signal)) + np.cumsum(jumps).astype(int)
    return np.asarray(signal[np.clip(places, 0, len(signal) - 1)])
