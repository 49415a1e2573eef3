"""Phase: how coherent it is over time and frequency, and how steady pitches are.

Steady partials turn by the same angle every frame and impulses by the same angle every bin.
Reconstruction from magnitudes, stretching and phase quantisation break both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.encoders.features.quantiles import quantiles
from otadtk.encoders.features.texture.spectrogram import Floats, Spectrogram

Places = NDArray[np.intp]

NAMES = (
    *(
        f"{name}_{band}"
        for band in range(3)
        for name in ("coherence_time", "coherence_frequency", "impulsive", "most_impulsive")
    ),
    *("pitch_move", "pitch_move_high"),
)
_PEAK_DB = 3.0
_FEWEST_PEAKS = 20
_PIECE = 128


def measure(s: Spectrogram) -> list[float]:
    """Coherence over time and over frequency by band, then how far pitches move in 8 ms."""
    return [*_coherence(s), *_pitch(s)]


def _coherence(s: Spectrogram) -> list[float]:
    frames = len(s.spectra)
    inner = s.loud[1:-1] if s.loud[1:-1].any() else np.ones(frames - 2, dtype=bool)
    pieces = [_by_frame(s, first, first + _PIECE) for first in range(2, frames, _PIECE)]
    found: list[float] = []
    for kinds in zip(*pieces, strict=True):  # one band of all pieces
        time, frequency, impulsive = (np.concatenate(kind) for kind in zip(*kinds, strict=True))
        found += [float(time[inner].mean()), float(frequency[s.loud].mean())]
        found += quantiles(impulsive[s.loud], (0.5, 0.95))
    return found


def _by_frame(s: Spectrogram, first: int, last: int) -> list[tuple[Floats, Floats, Floats]]:
    """For each band: coherence over time and frequency, and impulsiveness, of some frames.

    A piece stays in the processor's cache; the whole spectrogram would not. Coherence over time
    needs the two frames before, which count for the other two in the first piece only.
    """
    piece, new = slice(first - 2, last), slice(0 if first == 2 else 2, None)
    size, share = s.magnitude[piece], np.cbrt(s.power[piece])
    u = s.spectra[piece] * (1 / (size + np.float32(1e-9)))
    turn = u[1:] * np.conj(u[:-1])
    time = turn[1:] * np.conj(turn[:-1])
    time_weight = share[2:] * share[1:-1] * share[:-2]
    turn = u[new, 1:] * np.conj(u[new, :-1])
    bend = (turn[:, 1:] * np.conj(turn[:, :-1])).real
    bend_weight = share[new, 2:] * share[new, 1:-1] * share[new, :-2]
    turn_weight = size[new, 1:] * size[new, :-1]
    return [
        (
            np.abs(_mean(time[:, band], time_weight[:, band])),
            _mean(bend[:, band], bend_weight[:, band]),
            np.abs(_mean(turn[:, band], turn_weight[:, band])),
        )
        for band in s.bands
    ]


def _mean(values: NDArray[Any], weights: Floats) -> NDArray[Any]:
    """The weighted mean of each frame; 0 where it has no weight."""
    mean: NDArray[Any] = (weights * values).sum(axis=1) / (weights.sum(axis=1) + 1e-9)
    return mean


def _pitch(s: Spectrogram) -> list[float]:
    """Low and high quantile of the relative change of frequency at spectral peaks, log10."""
    power = s.power
    peak = (s.grain > _PEAK_DB) & s.live
    peak[:, 1:-1] &= (power[:, 1:-1] >= power[:, :-2]) & (power[:, 1:-1] >= power[:, 2:])
    peak[:, :4] = peak[:, -1] = False
    time, place = np.divmod(np.flatnonzero(peak[1:-1]), peak.shape[1])
    if len(time) <= _FEWEST_PEAKS:
        return [-1.5, -1.0]
    before, after = _frequency(s, time, place), _frequency(s, time + 1, place)
    moved = np.log10(np.abs(after - before) / np.maximum(before, 2.0) + 1e-4)
    return quantiles(moved, (0.3, 0.8))


def _frequency(s: Spectrogram, time: Places, place: Places) -> NDArray[np.float64]:
    """The frequency in bins that the turn of a phase says."""
    expected = np.exp(-2j * np.pi * s.hop * np.arange(s.power.shape[1]) / s.size)
    turn = s.spectra[time + 1, place] * np.conj(s.spectra[time, place])
    beside = np.angle(turn * expected.astype(np.complex64)[place])
    frequency: NDArray[np.float64] = place + beside * s.size / (2 * np.pi * s.hop)
    return frequency
