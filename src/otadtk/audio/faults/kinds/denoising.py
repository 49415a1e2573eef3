"""Faults of denoising and separation: gates, subtraction, holes and masks in the spectrogram."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter, uniform_filter1d

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import smooth_noise, with_power_of
from otadtk.audio.faults.stft import any_size, frame_size, signal_of, spectra_of

KINDS = Family("denoising")


@KINDS.add("threshold, dB from the loudest bin", mild=-100.0, gross=-3.0)
def spectral_gate(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """Bins below a threshold set to zero."""
    spectra = spectra_of(signal, any_size(rate, rng))
    magnitudes = np.abs(spectra)
    least = float(magnitudes.max()) * 10 ** (decibels / 20)
    return signal_of(spectra * (magnitudes >= least), len(signal))


@KINDS.add("factor on the mean", mild=0.001, gross=6.0, geometric=True)
def subtraction(signal: Signal, rate: int, rng: np.random.Generator, factor: float) -> Signal:
    """Each bin's mean magnitude, times a factor, subtracted: musical noise is left."""
    spectra = spectra_of(signal, any_size(rate, rng))
    magnitudes = np.abs(spectra)
    level = magnitudes.mean(axis=1)
    noise = magnitudes[level >= 0.05 * level.max()].mean(axis=0)
    left = np.maximum(magnitudes - np.float32(factor) * noise, 0.0)
    return signal_of(spectra * (left / np.maximum(magnitudes, 1e-12)), len(signal))


@KINDS.add("share of the tiles", mild=0.002, gross=0.95, geometric=True)
def holes(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Random tiles of the spectrogram set to zero."""
    spectra = spectra_of(signal, any_size(rate, rng))
    frames, bins = spectra.shape
    tall, wide = int(rng.integers(4, 17)), int(rng.integers(4, 17))
    tiles = rng.random((frames // tall + 1, bins // wide + 1)) >= share
    kept = np.repeat(np.repeat(tiles, tall, axis=0), wide, axis=1)[:frames, :bins]
    return signal_of(spectra * kept, len(signal))


@KINDS.add("deviation of the gains, dB", mild=0.2, gross=40.0, geometric=True)
def mask_wobble(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """A mask of random gains that are smooth over time and frequency."""
    spectra = spectra_of(signal, frame_size(0.032, rate))
    blur = (float(rng.uniform(1.0, 6.0)), float(rng.uniform(1.0, 6.0)))
    field = gaussian_filter(rng.standard_normal(spectra.shape).astype(np.float32), blur)
    field *= np.float32(decibels / max(float(field.std()), 1e-9))
    return signal_of(spectra * 10 ** (np.minimum(field, 6.0) / 20), len(signal))


@KINDS.add("width of the blur, frames and bins", mild=0.15, gross=20.0, geometric=True)
def oversmooth(signal: Signal, rate: int, rng: np.random.Generator, width: float) -> Signal:
    """Log magnitudes blurred over time and frequency, phases kept."""
    spectra = spectra_of(signal, frame_size(0.032, rate))
    magnitudes = np.abs(spectra)
    logs = np.log(magnitudes + 1e-4 * magnitudes.max() + 1e-12)
    along = float(rng.uniform(0.3, 1.0))
    blurred = gaussian_filter(logs, (width * along, width * (1.3 - along)))
    made = signal_of(spectra * np.exp(blurred - logs).astype(np.float32), len(signal))
    return with_power_of(made, signal)


@KINDS.add("share of the sounding part", mild=0.005, gross=0.98, geometric=True)
def noise_gate(signal: Signal, rate: int, rng: np.random.Generator, share: float) -> Signal:
    """Silence wherever the level is low."""
    level = np.sqrt(np.maximum(uniform_filter1d(np.square(signal), max(1, int(0.01 * rate))), 0.0))
    sounding = level[level > 1e-4 * level.max()]
    least = float(np.quantile(sounding, share)) if len(sounding) else 0.0
    gain = uniform_filter1d((level > least).astype(np.float64), max(1, int(0.004 * rate)))
    return np.asarray(signal * gain)


@KINDS.add("greatest loss, dB", mild=0.3, gross=60.0, geometric=True)
def breathing(signal: Signal, rate: int, rng: np.random.Generator, decibels: float) -> Signal:
    """High bands that duck in and out, as under a nervous noise reduction."""
    spectra = spectra_of(signal, frame_size(0.032, rate))
    frames, bins = spectra.shape
    curve = np.tanh(smooth_noise(frames, rng.uniform(6.0, 20.0), rng))
    depth = np.clip(np.linspace(0.0, rate / 2, bins) / 2000.0, 0.05, 1.0)
    gain = 10 ** (-decibels / 20 * (1.0 + curve)[:, None] / 2 * depth)
    return signal_of(spectra * gain.astype(np.float32), len(signal))
