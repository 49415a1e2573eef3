"""Faults of rates and bands: aliasing, images, band limits, invented or missing bands."""

from __future__ import annotations

import numpy as np
from scipy.fft import fft, ifft, irfft, rfft

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import (
    centre_of,
    cutoff_of,
    edge_of,
    filtered,
    frequencies_of,
    lengthened,
    with_power_of,
)
from otadtk.audio.faults.stft import above, frame_size, signal_of, spectra_of, through_bands

KINDS = Family("rate")


@KINDS.add("half that rate (0: the clip's upper edge, 1: 100 Hz)", mild=0.0, gross=1.0)
def aliasing(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """Sampled at a lower rate without a filter before, then brought back with one."""
    length = len(signal)
    kept = max(2, int(length * min(1.0, 2 * cutoff_of(signal, rate, travel, 100.0) / rate)))
    if kept >= length:
        return signal.copy()
    order = np.rint(np.fft.fftfreq(length, 1 / length)).astype(int)
    folded = np.zeros(kept, dtype=complex)
    np.add.at(folded, order % kept, fft(signal))  # sampling adds frequencies that differ by a rate
    return lengthened(np.real(ifft(folded)) * (kept / length), length)


@KINDS.add("samples", mild=1.0, gross=40.0, geometric=True)
def hold(signal: Signal, rate: int, rng: np.random.Generator, factor: float) -> Signal:
    """Samples of a lower rate, held: aliasing and images."""
    return np.asarray(signal[(np.arange(len(signal)) // factor * factor).astype(int)])


@KINDS.add("level of the images, dB", mild=-70.0, gross=20.0)
def images(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """The low band mirrored into the high ones, as upsampling without a filter leaves it."""
    spectrum = rfft(signal)
    bins = len(spectrum)
    # the mirror lies where the clip has content below it
    edge = min(edge_of(signal, rate, 0.98), rate / 4) * float(rng.uniform(0.8, 1.2))
    turn = int(np.clip(bins * edge / (rate / 2), 1, bins))
    place = np.arange(turn, bins) % (2 * turn)
    source = np.where(place < turn, place, 2 * turn - 1 - place)
    mirrored = np.where(place < turn, spectrum[source], np.conj(spectrum[source]))
    spectrum[turn:] += mirrored * 10 ** (decibels / 20)
    return np.asarray(irfft(spectrum, len(signal)))


@KINDS.add("that frequency (0: the clip's upper edge, 1: 150 Hz)", mild=0.0, gross=1.0)
def invented_band(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """The band above a frequency replaced by a copy of the one below, shifted or mirrored."""
    spectra = spectra_of(signal, frame_size(0.032, rate))
    bins = spectra.shape[1]
    cutoff = cutoff_of(signal, rate, travel)
    turn = max(2, int(cutoff / (rate / 2) * (bins - 1)))
    place = np.arange(bins)
    if rng.random() < 0.5:
        source = turn // 2 + (place - turn // 2) % (turn - turn // 2)
    else:
        source = np.where((place // turn) % 2 == 0, place % turn, turn - 1 - place % turn)
    made = spectra[:, source]
    there = through_bands(np.abs(spectra), rate, 6)  # only the rough level is right
    gain = np.minimum(there / np.maximum(through_bands(np.abs(made), rate, 6), 1e-9), 10.0)
    weight = above(bins, rate, cutoff)
    return signal_of(spectra * (1 - weight) + made * gain * weight, len(signal))


@KINDS.add("that frequency (0: the clip's upper edge, 1: 100 Hz)", mild=0.0, gross=1.0)
def band_limit(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """Nothing above a frequency, cut off by a wall or a slope."""
    frequencies = frequencies_of(signal, rate)
    cutoff = cutoff_of(signal, rate, travel, 100.0)
    if rng.random() < 0.5:
        return filtered(signal, 1.0 - above(len(frequencies), rate, cutoff))
    return filtered(signal, 1.0 / np.sqrt(1.0 + (frequencies / cutoff) ** 8))


@KINDS.add("that frequency (0: 15 Hz, 1: the clip's upper edge)", mild=0.0, gross=1.0)
def thin(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """Nothing below a frequency."""
    cutoff = 15.0 * (edge_of(signal, rate) / 15.0) ** travel
    frequencies = np.maximum(frequencies_of(signal, rate), 1e-3)
    return filtered(signal, 1.0 / np.sqrt(1.0 + (cutoff / frequencies) ** 8))


@KINDS.add("width, octaves", mild=0.01, gross=8.0, geometric=True)
def missing_band(signal: Signal, rate: int, rng: np.random.Generator, octaves: float) -> Signal:
    """A band in the middle of the clip's own range removed."""
    centre = centre_of(signal, rate, float(rng.uniform(0.3, 0.7)))
    distance = np.abs(np.log2(np.maximum(frequencies_of(signal, rate), 1.0) / centre))
    slope = min(0.05, octaves / 4)
    return filtered(signal, np.clip((distance - octaves / 2) / slope + 1.0, 0.0, 1.0))


@KINDS.add("depth", mild=0.0003, gross=4.0, geometric=True)
def stride_pattern(signal: Signal, rate: int, rng: np.random.Generator, depth: float) -> Signal:
    """Gains that repeat every few samples, as strided upsampling layers leave them."""
    pattern = rng.uniform(-1.0, 1.0, int(rng.choice([2, 4, 5, 8, 16])))
    pattern -= pattern.mean()
    pattern /= max(float(np.abs(pattern).max()), 1e-9)
    return with_power_of(signal * (1.0 + depth * np.resize(pattern, len(signal))), signal)
