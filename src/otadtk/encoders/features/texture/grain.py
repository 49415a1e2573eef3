"""Grain of the log spectrogram: isolated peaks, holes, tonal lines, combs.

Noise has a known distribution of levels around their local mean. Codecs, spectral gates and
quantisers cut holes into it or leave single peaks standing (musical noise).
"""

from __future__ import annotations

import numpy as np

from otadtk.encoders.features.quantiles import column_quantile, quantiles
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
        found += [q / 10 for q in quantiles(grain, _QUANTILES)] if enough else [0.0] * 6
    return found


def _bands(s: Spectrogram) -> list[float]:
    highest, lowest = _around(s.decibels, 2, np.maximum), _around(s.decibels, 3, np.minimum)
    isolated = (s.decibels - highest > _STANDS_OUT_DB) & s.live
    holes = (lowest - s.decibels > _STANDS_OUT_DB) & s.live
    both = s.live[:-2] & s.live[2:]
    before, after = s.grain[:-2] * both, s.grain[2:] * both
    found: list[float] = []
    for band, power in zip(s.bands, s.band_power, strict=True):
        count = max(1, int(np.count_nonzero(s.live[:, band])))
        for marks in (isolated, holes):
            found.append(float(np.log10(np.count_nonzero(marks[:, band]) / count + 1e-4)))
        width = band.stop - band.start
        flatness = s.decibels[:, band].mean(axis=1) / 10 - np.log10(power / width + 1e-7)
        found.append(float(np.median(flatness[s.loud])))
        first, second = before[:, band], after[:, band]
        scale = np.sqrt((first**2).sum() * (second**2).sum() + 1e-9)
        enough = np.count_nonzero(both[:, band]) > _FEWEST_BINS
        found.append(float((first * second).sum() / scale) if enough else 0.0)
    return found


def _around(level: Floats, reach: int, extreme: np.ufunc) -> Floats:
    """The extreme of the four bins that lie so many steps away in time and frequency."""
    wide = np.pad(level, reach, mode="wrap")
    middle = slice(reach, -reach)
    found = extreme(wide[2 * reach :, middle], wide[: -2 * reach, middle])
    extreme(found, wide[middle, 2 * reach :], out=found)
    extreme(found, wide[middle, : -2 * reach], out=found)
    around: Floats = found
    return around


def _lines(s: Spectrogram) -> list[float]:
    """How far single bins stand above their neighbours, in the mean and in the floor over time."""
    from scipy.ndimage import median_filter

    usable = slice(2, round(7650 * s.size / s.rate))
    found: list[float] = []
    for curve in (s.mean_decibels, column_quantile(s.loud_decibels, 0.1)):
        above = (curve - median_filter(curve, _LINE_WIDTH, mode="nearest"))[usable]
        found += [float(above.max()) / 20, quantiles(above, (0.97,))[0] / 20]
    strongest = np.argsort(above, kind="stable")[-4:] + usable.start
    return [*found, float(s.loud_decibels[:, strongest].std(axis=0).mean()) / 10]


def _combs(s: Spectrogram) -> list[float]:
    """Regular ripples of the spectrum: in its cepstrum, and as an echo of 3 to 150 ms."""
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.ndimage import uniform_filter1d

    ripple = s.mean_decibels - uniform_filter1d(s.mean_decibels, 25, mode="nearest")
    cepstrum = np.abs(irfft(ripple))[8 : round(0.0125 * s.rate)]
    highest = float(cepstrum.max())
    longest = round(_LONGEST_ECHO * s.rate)
    size = next_fast_len(len(s.waveform) + longest, real=True)
    power = np.square(np.abs(rfft(s.waveform, size)))
    power /= uniform_filter1d(power, 401, mode="nearest") + 1e-9
    likeness = irfft(power)[:longest]
    echo = np.abs(likeness[round(_SHORTEST_ECHO * s.rate) :]).max() / (likeness[0] + 1e-9)
    return [
        float(np.log10(highest + 1e-2)),
        float(np.log10(highest / (float(np.median(cepstrum)) + 1e-3) + 1e-3)),
        float(np.log10(echo + 1e-3)),
    ]
