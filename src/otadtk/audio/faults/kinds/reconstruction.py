"""Faults of reconstruction from magnitudes: phases that were guessed, bands that are too few."""

from __future__ import annotations

import numpy as np

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import cutoff_of, with_power_of
from otadtk.audio.faults.stft import (
    OVERLAP,
    Magnitudes,
    Spectra,
    above,
    signal_of,
    size_between,
    spectra_of,
    through_bands,
    unit,
)

KINDS = Family("reconstruction")
SPLIT = "that frequency (0: the clip's upper edge, 1: 60 Hz)"


def from_magnitudes(
    magnitudes: Magnitudes, start: Spectra, length: int, *, iterations: int, momentum: float = 0.9
) -> Signal:
    """The signal whose spectra come near the magnitudes: fast Griffin-Lim from given phases."""
    size = 2 * (magnitudes.shape[1] - 1)
    phases, before = start, np.zeros_like(start)
    for _ in range(iterations):
        consistent = spectra_of(signal_of(magnitudes * phases, length), size)
        ahead = consistent + np.float32(momentum) * (consistent - before)
        phases = np.asarray(ahead / np.maximum(np.abs(ahead), 1e-12), dtype=np.complex64)
        before = consistent
    return signal_of(magnitudes * phases, length)


def _near(spectra: Spectra, turns: float, rng: np.random.Generator) -> Spectra:
    """The true phases, each off by up to so many turns."""
    off = rng.uniform(-2 * np.pi, 2 * np.pi, spectra.shape) * turns
    return unit(np.angle(spectra) + off)


@KINDS.add(
    "mel bands (above 128 the true spectrum is partly kept)", mild=512, gross=6, geometric=True
)
def mel_griffin_lim(signal: Signal, rate: int, rng: np.random.Generator, bands: float) -> Signal:
    """A mel spectrogram inverted by 6 to 16 iterations of fast Griffin-Lim."""
    spectra = spectra_of(signal, size_between(0.04, 0.09, rate, rng))
    lost = np.float32(np.clip(np.log2(512 / bands) / 2, 0.0, 1.0))
    magnitudes = np.abs(spectra)
    magnitudes = magnitudes + lost * (through_bands(magnitudes, rate, round(bands)) - magnitudes)
    start = _near(spectra, 0.5 * float(lost), rng)
    iterations = int(rng.integers(6, 17))
    return with_power_of(
        from_magnitudes(magnitudes, start, len(signal), iterations=iterations), signal
    )


@KINDS.add("error of the first phases, turns", mild=0.002, gross=0.5, geometric=True)
def griffin_lim(signal: Signal, rate: int, rng: np.random.Generator, turns: float) -> Signal:
    """True magnitudes, wrong phases, 2 to 8 iterations of fast Griffin-Lim."""
    spectra = spectra_of(signal, size_between(0.02, 0.09, rate, rng))
    start, iterations = _near(spectra, turns, rng), int(rng.integers(2, 9))
    return with_power_of(
        from_magnitudes(np.abs(spectra), start, len(signal), iterations=iterations), signal
    )


@KINDS.add("error of the phases, turns", mild=0.002, gross=0.5, geometric=True)
def random_phase(signal: Signal, rate: int, rng: np.random.Generator, turns: float) -> Signal:
    """True magnitudes with random errors of phase."""
    spectra = spectra_of(signal, size_between(0.02, 0.09, rate, rng))
    made = signal_of(np.abs(spectra) * _near(spectra, turns, rng), len(signal))
    return with_power_of(made, signal)


@KINDS.add("share of the phase taken away", mild=0.001, gross=1.0, geometric=True)
def zero_phase(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Phases drawn towards zero: a robot's voice at the frame rate."""
    spectra = spectra_of(signal, size_between(0.015, 0.06, rate, rng))
    phases = np.angle(spectra) * np.float32(1.0 - share)
    return with_power_of(signal_of(np.abs(spectra) * unit(phases), len(signal)), signal)


@KINDS.add(SPLIT, mild=0.0, gross=1.0)
def phase_gradient(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """Phases above a frequency integrated over time from the slope of the log magnitudes."""
    spectra = spectra_of(signal, size_between(0.02, 0.09, rate, rng))
    bins = spectra.shape[1]
    size = 2 * (bins - 1)
    hop = size // OVERLAP
    magnitudes = np.abs(spectra)
    slope = np.gradient(np.log(magnitudes + 1e-5 * magnitudes.max() + 1e-12), axis=1)
    # 0.25645 size² is the width of the Gaussian window that comes nearest to Hann's
    advance = hop / (0.25645 * size) * slope + 2 * np.pi * hop * np.arange(bins) / size
    phases = rng.uniform(-np.pi, np.pi, bins) + np.cumsum(advance, axis=0)
    return _above_split(signal, rate, spectra, magnitudes * unit(phases), travel)


def _above_split(
    signal: Signal, rate: int, spectra: Spectra, made: Spectra, travel: float
) -> Signal:
    """What was made above a frequency, the clip itself below it."""
    weight = above(spectra.shape[1], rate, cutoff_of(signal, rate, travel, low=60.0))
    mixed = spectra * (1 - weight) + made * weight
    return with_power_of(signal_of(mixed, len(signal)), signal)


def _carried(
    signal: Signal, rate: int, source: Signal, size: int, bands: int, travel: float
) -> Signal:
    """Bands above a frequency carried by another source, with the clip's envelopes."""
    spectra, carrier = spectra_of(signal, size), spectra_of(source, size)
    flat = carrier / np.maximum(through_bands(np.abs(carrier), rate, bands), 1e-9)
    made = np.asarray(flat * through_bands(np.abs(spectra), rate, bands), dtype=np.complex64)
    return _above_split(signal, rate, spectra, made, travel)


@KINDS.add(SPLIT, mild=0.0, gross=1.0)
def noise_carrier(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """Bands above a frequency carried by noise."""
    bands, size = int(rng.integers(16, 48)), size_between(0.015, 0.05, rate, rng)
    return _carried(signal, rate, rng.standard_normal(len(signal)), size, bands, travel)


@KINDS.add(SPLIT, mild=0.0, gross=1.0)
def pulse_carrier(signal: Signal, rate: int, rng: np.random.Generator, travel: float) -> Signal:
    """Bands above a frequency carried by a buzz of constant pitch."""
    bands, size = int(rng.integers(16, 48)), size_between(0.03, 0.06, rate, rng)
    beats = np.floor(np.arange(len(signal)) * rng.uniform(70.0, 220.0) / rate)
    return _carried(signal, rate, np.diff(beats, prepend=-1.0), size, bands, travel)
