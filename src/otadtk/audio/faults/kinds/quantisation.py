"""Faults of coarse quantisation: samples, magnitudes, phases, coefficients, whole envelopes."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import fitted, peak_of, with_power_of
from otadtk.audio.faults.stft import any_size, frame_size, mel_filters, signal_of, spectra_of, unit
from otadtk.audio.perturb import crush_bits

KINDS = Family("quantisation")


@KINDS.add("bits", mild=15.0, gross=1.5)
def crush(signal: Signal, rate: int, rng: np.random.Generator, bits: float) -> Signal:
    """Samples on a coarse uniform scale over the clip's own range."""
    return crush_bits(signal.astype(np.float32), bits=bits).astype(np.float64)


@KINDS.add("bits", mild=12.0, gross=1.0)
def mu_law(signal: Signal, rate: int, rng: np.random.Generator, bits: float) -> Signal:
    """Samples on a coarse logarithmic scale."""
    peak, levels = peak_of(signal), 2.0**bits / 2
    small = np.sign(signal) * np.log1p(255.0 * np.abs(signal) / peak) / np.log(256.0)
    coarse = (np.floor(small * levels) + 0.5) / levels  # no level for zero, as in the standard
    wide = (256.0 ** np.minimum(np.abs(coarse), 1.0) - 1.0) / 255.0
    return np.asarray(np.sign(coarse) * wide * peak)


@KINDS.add("step, dB", mild=0.3, gross=60.0, geometric=True)
def magnitude_steps(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Short-time magnitudes in steps of some decibels."""
    spectra = spectra_of(signal, any_size(rate, rng))
    magnitudes = np.abs(spectra)
    logs = 20 * np.log10(magnitudes + 1e-6 * magnitudes.max() + 1e-12)
    shift = rng.uniform(0.0, decibels)
    coarse = np.round((logs - shift) / decibels) * decibels + shift
    return signal_of(spectra * 10 ** ((coarse - logs) / 20).astype(np.float32), len(signal))


@KINDS.add("step, turns", mild=0.005, gross=1.0, geometric=True)
def phase_steps(signal: Signal, rate: int, rng: np.random.Generator, turns: float) -> Signal:
    """Short-time phases in steps."""
    spectra = spectra_of(signal, any_size(rate, rng))
    step = 2 * np.pi * turns
    shift = rng.uniform(0.0, step)
    phases = np.round((np.angle(spectra) - shift) / step) * step + shift
    return with_power_of(signal_of(np.abs(spectra) * unit(phases), len(signal)), signal)


@KINDS.add("step over the frame's level", mild=0.005, gross=8.0, geometric=True)
def transform_steps(signal: Signal, rate: int, rng: np.random.Generator, step: float) -> Signal:
    """Coefficients of a lapped cosine transform rounded to coarse steps."""
    coefficients = lapped(signal, any_size(rate, rng))
    level = np.sqrt(np.mean(np.square(coefficients), axis=1, keepdims=True))
    size = np.maximum(step * level, 1e-12)
    return unlapped(np.round(coefficients / size) * size, len(signal))


def lapped(signal: Signal, half: int) -> Signal:
    """Modified discrete cosine transform with a sine window, frames by coefficients."""
    count = -(-len(signal) // half) + 1
    padded = np.zeros((count + 1) * half)
    padded[half : half + len(signal)] = signal
    frames = np.lib.stride_tricks.sliding_window_view(padded, 2 * half)[::half]
    frames = frames * np.sin(np.pi * (np.arange(2 * half) + 0.5) / (2 * half))
    a, b, c, d = np.split(frames, 4, axis=1)
    folded = np.concatenate([-c[:, ::-1] - d, a - b[:, ::-1]], axis=1)
    return np.asarray(dct(folded, type=4, norm="ortho", axis=1))


def unlapped(coefficients: Signal, length: int) -> Signal:
    """The signal of lapped coefficients: the inverse of ``lapped``."""
    count, half = coefficients.shape
    first, second = np.split(dct(coefficients, type=4, norm="ortho", axis=1), 2, axis=1)
    frames = np.concatenate([second, -second[:, ::-1], -first[:, ::-1], -first], axis=1)
    frames = frames * np.sin(np.pi * (np.arange(2 * half) + 0.5) / (2 * half))
    total = np.zeros((count + 1) * half)
    total[: count * half] += frames[:, :half].ravel()
    total[half:] += frames[:, half:].ravel()
    return fitted(total[half:], length)


@KINDS.add("share of the bins", mild=1.0, gross=0.004, geometric=True)
def few_partials(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Only the strongest bins of every frame kept."""
    spectra = spectra_of(signal, any_size(rate, rng))
    kept = max(1, round(share * spectra.shape[1]))
    magnitudes = np.abs(spectra)
    least = np.partition(magnitudes, -kept, axis=1)[:, -kept][:, None]
    return signal_of(spectra * (magnitudes >= least), len(signal))


@KINDS.add("envelopes per second", mild=300.0, gross=0.5, geometric=True)
def codebook(signal: Signal, rate: int, rng: np.random.Generator, per_second: float) -> Signal:
    """Every frame's envelope replaced by the nearest of a few envelopes of the same clip."""
    spectra = spectra_of(signal, frame_size(0.032, rate))
    filters = mel_filters(spectra.shape[1], rate, 32)
    magnitudes = np.abs(spectra)
    floor = 1e-4 * float(magnitudes.max()) + 1e-12
    envelopes = np.log(magnitudes @ (filters / filters.sum(axis=1, keepdims=True)).T + floor)
    loud = np.flatnonzero(envelopes.max(axis=1) > envelopes.max() - 4.6)  # within 40 dB
    count = int(np.clip(round(per_second * len(signal) / rate), 1, len(loud)))
    codes = envelopes[rng.permutation(loud)[:count]]
    codes = np.vstack([codes, np.full(codes.shape[1], np.log(floor))])
    squares = np.sum(codes**2, axis=1) - 2 * envelopes @ codes.T
    change = codes[np.argmin(squares, axis=1)] - envelopes
    gain = np.exp(change @ (filters / np.maximum(filters.sum(axis=0), 1e-6)))
    return signal_of(spectra * gain.astype(np.float32), len(signal))
