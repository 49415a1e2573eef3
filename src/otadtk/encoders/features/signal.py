"""Weight-free measurements of a waveform that tell how it was handled, not what it is a sound of.

Encoders are trained to ignore clicks, gaps, clipping and narrow bands. These numbers see them:
flat tops, gaps with hard edges, impulses, the noise floor, the long-term spectrum and its steepest
edge, self-similarity at a lag, and how suddenly the level rises and falls.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from otadtk.encoders.features.quantiles import quantiles

Floats = NDArray[np.float64]

VERSION = "signal/1"
NAMES = (
    "flat_top",
    "held",
    "crest",
    "gaps",
    "gap_share",
    "impulse_height",
    "impulses",
    "edge_kurtosis",
    "floor_flatness",
    "floor_level",
    "floor_high",
    "flatness",
    "band_0",
    "band_500",
    "band_1000",
    "band_2000",
    "band_4000",
    "band_6000",
    "roll_off",
    "steepest_edge",
    "above_edge",
    "repetition",
    "repetition_prominence",
    "spectral_repetition",
    "rise",
    "fall",
    "falls",
    "rises",
    "flux_peak",
    "flux_kurtosis",
    "start_level",
    "end_level",
)
COUNT = len(NAMES)

_SILENT = 1e-4
_SMALLEST = 64
_WINDOW, _HOP = 0.032, 0.016


def signal_features(waveform: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """The measurements ``(COUNT,)`` of a mono waveform, all of order one; zeros for silence.

    Digital silence before and after the sound is left out of every one of them.
    """
    sounding = np.flatnonzero(np.abs(waveform) > _SILENT)
    if len(sounding) < _SMALLEST:
        return np.zeros(COUNT, dtype=np.float32)
    x = waveform[sounding[0] : sounding[-1] + 1].astype(np.float64)
    x = x / np.abs(x).max()
    spectra, frequencies = _spectra(x, rate)
    bands = np.add.reduceat(spectra, np.arange(0, spectra.shape[1], 8), axis=1)
    values = [
        *_flat_parts(x),
        *_gaps(x, rate),
        *_impulses(x, rate),
        *_spectrum(spectra, frequencies, rate),
        *_repetition(x, rate, bands),
        *_envelope(x, rate, bands),
    ]
    finite: Floats = np.nan_to_num(np.array(values), posinf=0.0, neginf=0.0)
    return finite.astype(np.float32)


def _kurtosis(values: Floats) -> float:
    """Fourth moment over the square of the second: 3 for a Gaussian, not a number for a constant."""
    squares = np.square(values - values.mean())
    spread = float(squares.mean())
    return float(np.square(squares).mean()) / spread**2 if spread > 0 else math.nan


def _log(value: float, floor: float) -> float:
    with np.errstate(divide="ignore"):  # what is not finite becomes 0 at the end
        return float(np.log10(max(value, 0.0) + floor))


def _flat_parts(x: Floats) -> list[float]:
    """Samples at the peak, samples that repeat their neighbour away from zero, the crest factor."""
    size = np.abs(x)
    held = (np.abs(np.diff(x)) < 1e-4) & (size[1:] > 0.05)
    crest = float(np.sqrt(np.mean(x**2)))
    return [
        _log(float(np.mean(size > 0.99)), 1e-5),
        _log(float(held.mean()), 1e-5),
        _log(crest, 1e-4),
    ]


def _gaps(x: Floats, rate: int) -> list[float]:
    """How many gaps of 3 to 300 ms lie inside the sound per second, and their share of it."""
    silent = np.abs(x) < 1.5e-4
    edges = np.flatnonzero(np.diff(np.concatenate([[0], silent.view(np.int8), [0]])))
    starts, stops = edges[::2], edges[1::2]
    lengths = stops - starts
    proper = (lengths > 0.003 * rate) & (lengths < 0.3 * rate) & (starts > 0) & (stops < len(x))
    starts, stops, lengths = starts[proper], stops[proper], lengths[proper]
    reach = max(2, int(0.005 * rate))
    before, after = (
        np.maximum(starts - reach // 2 - 1, 0),
        np.minimum(stops + reach // 2, len(x) - 1),
    )
    hard = np.maximum(_loudest_near(x, before, reach), _loudest_near(x, after, reach)) > 0.01
    seconds = len(x) / rate
    return [_log(hard.sum() / seconds, 0.05), _log(float(lengths[hard].sum()) / len(x), 1e-3)]


def _loudest_near(x: Floats, places: NDArray[np.intp], width: int) -> Floats:
    """The largest of so many samples around each place."""
    around = places[:, None] + np.arange(width) - width // 2
    loudest: Floats = np.abs(x[np.clip(around, 0, len(x) - 1)]).max(axis=1, initial=0.0)
    return loudest


def _impulses(x: Floats, rate: int) -> list[float]:
    """The highest, and the rate of, bends of the waveform that stand alone within 16 ms."""
    bend = np.abs(np.diff(x, 2))
    size = max(8, int(_HOP * rate))
    count = max(1, len(bend) // size)
    frames = bend[: count * size].reshape(count, -1) if len(bend) >= size else bend[None]
    rank = min(12, frames.shape[1])
    ordered = np.sort(frames, axis=1)
    middle = frames.shape[1] // 2
    level = np.maximum((ordered[:, middle] + ordered[:, -1 - middle]) / 2, 2e-4)
    ratio = ordered[:, -1] / level
    alone = (ratio > 15) & (ordered[:, -rank] < 6 * level)
    seconds = len(x) / rate
    highest = float(ratio[alone].max()) if alone.any() else 1.0
    return [
        _log(highest, 0.0),
        _log(alone.sum() / seconds, 0.05),
        _log(_kurtosis(bend), 0.1),
    ]


def _spectra(x: Floats, rate: int) -> tuple[Floats, Floats]:
    """Power spectra (frames × bins) of 32 ms every 16 ms, and the frequencies of the bins."""
    from scipy.fft import rfft

    size, hop = int(_WINDOW * rate), int(_HOP * rate)
    padded = np.pad(x, (0, max(0, size + 3 * hop - len(x))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    spectra = np.square(np.abs(rfft(frames * np.hanning(size), axis=1))) / size
    return spectra, np.fft.rfftfreq(size, 1 / rate).astype(np.float64)


def _decibels(power: Floats) -> Floats:
    decibels: Floats = 10.0 * np.log10(power + 1e-10)
    return decibels


def _spectrum(spectra: Floats, frequencies: Floats, rate: int) -> list[float]:
    """The noise floor (quietest tenth of the frames), the shares of the bands, and the steepest edge."""
    from scipy.ndimage import uniform_filter1d

    top = min(7500.0, 0.47 * rate)
    inside = (frequencies > 150) & (frequencies < top)
    mean = spectra.mean(axis=0)
    tenth = len(spectra) // 10
    floor = np.partition(np.ascontiguousarray(spectra.T), tenth, axis=1)[:, tenth]
    mean_db, floor_db = _decibels(mean[inside]), _decibels(floor[inside])
    high = frequencies[inside] > 0.6 * top
    level = float(_decibels(np.array(mean[inside].mean())))

    def flatness(power: Floats) -> float:
        return float(np.log10(power + 1e-10).mean() - np.log10(power.mean() + 1e-10))

    edges = (0.0, 500.0, 1000.0, 2000.0, 4000.0, 6000.0, rate / 2)
    total = mean.sum() + 1e-12
    shares = [
        _log(float(mean[(frequencies >= low) & (frequencies < up)].sum() / total), 1e-6)
        for low, up in pairwise(edges)
    ]
    cumulative = np.cumsum(mean) / total
    roll_off = float(frequencies[min(int(np.searchsorted(cumulative, 0.99)), len(mean) - 1)])
    width = max(2, int(400.0 / (frequencies[1] - frequencies[0])))
    smooth = uniform_filter1d(mean_db, width, mode="nearest")
    drops = smooth[: -2 * width] - smooth[2 * width :] if len(smooth) > 2 * width else np.zeros(1)
    steepest = int(np.argmax(drops))
    above = smooth[min(steepest + 2 * width, len(smooth) - 1) :]
    return [
        flatness(floor[inside]),
        (float(floor_db.mean()) - level) / 20.0,
        (float(floor_db[high].mean()) - level) / 20.0,
        flatness(mean[inside]),
        *shares,
        _log(roll_off / 1000.0, 0.05),
        float(drops[steepest]) / 20.0,
        (float(above.mean()) - level) / 20.0,
    ]


def _repetition(x: Floats, rate: int, bands: Floats) -> list[float]:
    """How well the sound matches itself 50 to 700 ms later, as a waveform and as a spectrogram."""
    from scipy.fft import irfft, next_fast_len, rfft

    shortest, longest = int(0.05 * rate), min(int(0.7 * rate), len(x) // 2)
    if longest <= shortest + 8:
        return [0.0, 0.0, 0.0]
    size = next_fast_len(len(x) + longest, real=True)
    transformed = rfft(x.astype(np.float32), size)
    correlation = irfft(np.square(np.abs(transformed)), size)[shortest:longest].astype(np.float64)
    energy = np.concatenate([[0.0], np.cumsum(x**2)])
    lags = np.arange(shortest, longest)
    overlap = energy[len(x) - lags] * (energy[-1] - energy[lags])
    likeness = correlation / np.sqrt(overlap + 1e-9)
    best = float(likeness.max())
    (usual,) = quantiles(np.abs(likeness), (0.9,))
    bands = np.log(bands + 1e-6)
    bands = bands - bands.mean(axis=0)
    steps = np.arange(3, max(4, min(int(0.7 / _HOP), len(bands) // 2)))
    # by transforms, not as a product of matrices: BLAS would start threads of its own
    size = next_fast_len(2 * len(bands), real=True)
    products = np.square(np.abs(rfft(bands, size, axis=0))).sum(axis=1)
    shared = irfft(products, size)[steps]
    power = np.concatenate([[0.0], np.cumsum(np.square(bands).sum(axis=1))])
    both = power[-1] - power[steps] + power[len(bands) - steps]
    similar = 1.0 - (both - 2.0 * shared) / (both + 1e-3)
    spectral = float(similar.max()) if power[-1] > 0 else 0.0
    return [
        -_log(1.0 - best, 1e-3),
        _log(best / max(usual, 1e-3), 0.01) if best > 0 else 0.0,
        -_log(1.0 - spectral, 1e-2),
    ]


def _envelope(x: Floats, rate: int, bands: Floats) -> list[float]:
    """How suddenly the level rises and falls, how the spectrum jumps, and how the clip begins, ends.

    Natural sounds start suddenly and die away; what was cut also stops suddenly.
    """
    hop = max(1, int(0.008 * rate))
    count = len(x) // hop
    if count < 8:
        return [0.0] * 8
    power = np.mean(x[: count * hop].reshape(count, hop) ** 2, axis=1)
    level = 10.0 * np.log10(power + 1e-6)
    change = level[2:] - level[:-2]
    highest, lowest = quantiles(change, (0.99, 0.01))
    seconds = len(x) / rate
    bands = np.log(bands + 1e-5)
    flux = np.abs(bands[2:] - bands[:-2]).mean(axis=1)
    high, half = quantiles(flux, (0.97, 0.5))
    peak = high / (half + 0.05)
    return [
        highest / 20.0,
        -lowest / 20.0,
        _log(float((change < -10.0).sum()) / seconds, 0.3),
        _log(float((change > 10.0).sum()) / seconds, 0.3),
        _log(peak, 0.0),
        _log(_kurtosis(flux), 0.3),
        (float(level[:2].mean()) - float(level.max())) / 20.0,
        (float(level[-2:].mean()) - float(level.max())) / 20.0,
    ]
