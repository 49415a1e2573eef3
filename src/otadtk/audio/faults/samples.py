"""Tools on samples that several families share: length, level, resampling, random curves, pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from otadtk.audio.faults.fault import Signal


def fitted(signal: Signal, length: int) -> Signal:
    """The signal cut, or padded with zeros, to a length."""
    if len(signal) >= length:
        return signal[:length]
    return np.pad(signal, (0, length - len(signal)))


def peak_of(signal: Signal) -> float:
    """The greatest absolute sample, at least 1e-9."""
    return max(float(np.abs(signal).max(initial=0.0)), 1e-9)


def with_power_of(signal: Signal, model: Signal) -> Signal:
    """The signal at the level of another one; silence stays silence."""
    power = float(np.mean(np.square(signal)))
    if power <= 1e-20:
        return signal
    return np.asarray(signal * np.sqrt(float(np.mean(np.square(model))) / power))


def with_added(signal: Signal, extra: Signal, decibels: float) -> Signal:
    """The signal with something added at a level against it."""
    return signal + with_power_of(extra, signal) * 10 ** (decibels / 20)


def lengthened(signal: Signal, length: int) -> Signal:
    """The signal at another number of samples: band-limited resampling through the spectrum."""
    if length == len(signal):
        return signal
    spectrum = rfft(signal)
    kept = min(len(spectrum), length // 2 + 1)
    changed = np.zeros(length // 2 + 1, dtype=complex)
    changed[:kept] = spectrum[:kept]
    return np.asarray(irfft(changed, n=length)) * (length / len(signal))


def filtered(signal: Signal, gain: NDArray[np.floating]) -> Signal:
    """The signal with a gain for each of its ``len(signal) // 2 + 1`` frequencies."""
    return np.asarray(irfft(rfft(signal) * gain, len(signal)))


def frequencies_of(signal: Signal, rate: int) -> Signal:
    """The frequencies of the signal's spectrum, Hz."""
    return np.linspace(0.0, rate / 2, len(signal) // 2 + 1)


def edge_of(signal: Signal, rate: int, share: float = 0.9999) -> float:
    """The frequency below which that share of the clip's energy lies, at least 400 Hz."""
    energy = np.cumsum(np.square(np.abs(rfft(signal))))
    if energy[-1] <= 0.0:
        return rate / 2
    place = int(np.searchsorted(energy, share * energy[-1]))
    return float(np.clip(place * rate / len(signal), min(400.0, rate / 2), rate / 2))


def cutoff_of(signal: Signal, rate: int, travel: float, low: float = 150.0) -> float:
    """A frequency on the way from the clip's upper edge (0) down to ``low`` Hz (1), by ratios."""
    edge = edge_of(signal, rate)
    return float(edge * (min(low, edge / 2) / edge) ** travel)


def centre_of(signal: Signal, rate: int, share: float) -> float:
    """The frequency below which that share of the clip's magnitudes lies, at least 50 Hz."""
    total = np.cumsum(np.abs(rfft(signal)))
    place = int(np.searchsorted(total, share * total[-1]))
    return max(place * rate / len(signal), 50.0)


def smooth_noise(count: int, every: float, rng: np.random.Generator) -> Signal:
    """A random curve of about unit deviation that turns about every ``every`` samples."""
    knots = rng.standard_normal(int(count / every) + 4)
    place = np.arange(count) / every
    index, part = place.astype(int), place % 1.0
    ease = part * part * (3.0 - 2.0 * part)
    return np.asarray(knots[index] * (1.0 - ease) + knots[index + 1] * ease) * 1.16


def places_of(
    signal: Signal, piece: float, rng: np.random.Generator, *, least: int = 4
) -> tuple[list[int], int]:
    """The starts of all pieces of a clip in random order, and their length.

    A clip holds at least ``least`` pieces. Silent ones come last: a fault there would be none.
    """
    size = int(np.clip(piece, 1, max(1, len(signal) // least)))
    count = len(signal) // size
    offset = int(rng.integers(0, len(signal) - count * size + 1))
    power = np.square(signal[offset : offset + count * size]).reshape(count, size).sum(axis=1)
    order = rng.permutation(count)
    order = order[np.argsort(power[order] <= 1e-5 * power.max(), kind="stable")]
    return [offset + int(k) * size for k in order], size


def pieces_of(
    signal: Signal, piece: float, share: float, rng: np.random.Generator, *, least: int = 4
) -> list[slice]:
    """Pieces that cover that share of a clip, in order of time; the last one drawn may be shorter.

    With the same generator a larger share has all the pieces of a smaller one.
    """
    starts, size = places_of(signal, piece, rng, least=least)
    covered = max(1, round(share * len(starts) * size))
    whole, rest = divmod(covered, size)
    pieces = [slice(start, start + size) for start in starts[:whole]]
    pieces += [slice(start, start + rest) for start in starts[whole : whole + 1] if rest]
    return sorted(pieces, key=lambda piece: int(piece.start))
