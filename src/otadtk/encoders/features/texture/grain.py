"""Grain of the log spectrogram: isolated peaks, holes, tonal lines, combs.

Noise has a known distribution of levels around their local mean. Codecs, spectral gates and
quantisers cut holes into it or leave single peaks standing (musical noise).
"""

from __future__ import annotations

import numpy as np

from otadtk.encoders.features.texture.spectrogram import Floats, Spectrogram

_QUANTILES = (0.01, 0.05, 0.25, 0.75, 0.95, 0.99)
NAMES = (
    *(f"grain_{round(100 * q)}_{band}" for band in range(3) for q in _QUANTILES),
    *(f"{name}_{band}" for band in range(3) for name in ("isolated", "holes", "flatness", "hold")),
    *("lines", "lines_many", "floor_lines", "floor_lines_many", "line_steadiness"),
    *("comb", "comb_prominence", "echo"),
)
_STANDS_OUT_DB = 8.0
_FEWEST_BINS = 50
_LINE_WIDTH = 17
_LONGEST_ECHO, _SHORTEST_ECHO = 0.15, 0.003


def measure(s: Spectrogram) -> list[float]:
    """Quantiles of the grain, shares of peaks and holes, flatness and hold, lines and combs."""
    return [*_quantiles(s), *_bands(s), *_lines(s), *_combs(s)]


def _quantiles(s: Spectrogram) -> list[float]:
    found: list[float] = []
    for band in s.bands:
        grain = s.grain[:, band][s.live[:, band]]
        enough = grain.size > _FEWEST_BINS
        found += (np.quantile(grain, _QUANTILES) / 10).tolist() if enough else [0.0] * 6
    return found


def _bands(s: Spectrogram) -> list[float]:
    level = s.decibels
    above = level - np.maximum.reduce([np.roll(level, k, axis) for k in (-2, 2) for axis in (0, 1)])
    below = np.minimum.reduce([np.roll(level, k, axis) for k in (-3, 3) for axis in (0, 1)]) - level
    found: list[float] = []
    for band in s.bands:
        live = s.live[:, band]
        count = max(1, int(live.sum()))
        for stands_out in (above, below):
            share = (stands_out[:, band][live] > _STANDS_OUT_DB).sum() / count
            found.append(float(np.log10(share + 1e-4)))
        power = s.power[s.loud, band]
        flatness = np.log10(power + 1e-7).mean(axis=1) - np.log10(power.mean(axis=1) + 1e-7)
        found.append(float(np.median(flatness)))
        both = live[:-2] & live[2:]
        before, after = s.grain[:-2, band][both], s.grain[2:, band][both]
        scale = np.sqrt((before**2).sum() * (after**2).sum() + 1e-9)
        enough = both.sum() > _FEWEST_BINS
        found.append(float((before * after).sum() / scale) if enough else 0.0)
    return found


def _lines(s: Spectrogram) -> list[float]:
    """How far single bins stand above their neighbours, in the mean and in the floor over time."""
    from scipy.ndimage import median_filter

    level = s.decibels[s.loud]
    usable = slice(2, round(7650 * s.size / s.rate))
    found: list[float] = []
    for curve in (level.mean(axis=0), np.quantile(level, 0.1, axis=0)):
        above = (curve - median_filter(curve, _LINE_WIDTH, mode="nearest"))[usable]
        found += [float(above.max()) / 20, float(np.quantile(above, 0.97)) / 20]
    strongest = np.argsort(above, kind="stable")[-4:] + usable.start
    return [*found, float(level[:, strongest].std(axis=0).mean()) / 10]


def _combs(s: Spectrogram) -> list[float]:
    """Regular ripples of the spectrum: in its cepstrum, and as an echo of 3 to 150 ms."""
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.ndimage import uniform_filter1d

    mean: Floats = s.decibels[s.loud].mean(axis=0)
    ripple = mean - uniform_filter1d(mean, 25, mode="nearest")
    cepstrum = np.abs(irfft(ripple))[8 : round(0.0125 * s.rate)]
    highest = float(cepstrum.max())
    longest = round(_LONGEST_ECHO * s.rate)
    size = next_fast_len(len(s.waveform) + longest, real=True)
    power = np.abs(rfft(s.waveform, size)) ** 2
    power = power / (uniform_filter1d(power, 401, mode="nearest") + 1e-9)
    likeness = irfft(power)[:longest]
    echo = np.abs(likeness[round(_SHORTEST_ECHO * s.rate) :]).max() / (likeness[0] + 1e-9)
    return [
        float(np.log10(highest + 1e-2)),
        float(np.log10(highest / (float(np.median(cepstrum)) + 1e-3) + 1e-3)),
        float(np.log10(echo + 1e-3)),
    ]
