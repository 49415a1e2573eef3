"""Phase: how coherent it is over time and frequency, and how steady pitches are.

Steady partials turn by the same angle every frame and impulses by the same angle every bin.
Reconstruction from magnitudes, stretching and phase quantisation break both.
"""

from __future__ import annotations

import numpy as np

from otadtk.encoders.features.texture.spectrogram import Spectrogram

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


def measure(s: Spectrogram) -> list[float]:
    """Coherence over time and over frequency by band, then how far pitches move in 8 ms."""
    return [*_coherence(s), *_pitch(s)]


def _coherence(s: Spectrogram) -> list[float]:
    u, size = s.phasors, s.magnitude
    turn_time = u[2:] * np.conj(u[1:-1]) ** 2 * u[:-2]
    weight_time = (size[2:] * size[1:-1] * size[:-2]) ** (2 / 3)
    turn = u[:, 1:] * np.conj(u[:, :-1])
    turn_frequency = turn[:, 1:] * np.conj(turn[:, :-1])
    weight_frequency = (size[:, 2:] * size[:, 1:-1] * size[:, :-2]) ** (2 / 3)
    weight = size[:, 1:] * size[:, :-1]
    inner = s.loud[1:-1] if s.loud[1:-1].any() else np.ones(len(u) - 2, dtype=bool)
    found: list[float] = []
    for band in s.bands:
        w = weight_time[inner, band]
        time = np.abs((w * turn_time[inner, band]).sum(axis=1)) / (w.sum(axis=1) + 1e-9)
        w = weight_frequency[s.loud, band]
        along = np.real((w * turn_frequency[s.loud, band]).sum(axis=1)) / (w.sum(axis=1) + 1e-9)
        w = weight[s.loud, band]
        impulsive = np.abs((w * turn[s.loud, band]).sum(axis=1)) / (w.sum(axis=1) + 1e-9)
        found += [float(time.mean()), float(along.mean())]
        found += np.quantile(impulsive, [0.5, 0.95]).tolist()
    return found


def _pitch(s: Spectrogram) -> list[float]:
    """Low and high quantile of the relative change of frequency at spectral peaks, log10."""
    bins = np.arange(s.power.shape[1])
    expected = np.exp(-2j * np.pi * s.hop * bins / s.size).astype(np.complex64)
    beside = np.angle(s.phasors[1:] * np.conj(s.phasors[:-1]) * expected)
    frequency = bins + beside * s.size / (2 * np.pi * s.hop)
    power = s.power
    peak = np.zeros(power.shape, dtype=bool)
    peak[:, 1:-1] = (power[:, 1:-1] >= power[:, :-2]) & (power[:, 1:-1] >= power[:, 2:])
    peak &= (s.grain > _PEAK_DB) & s.live
    peak[:, :4] = False
    time, place = np.nonzero(peak[1:-1])
    if len(time) <= _FEWEST_PEAKS:
        return [-1.5, -1.0]
    before, after = frequency[time, place], frequency[time + 1, place]
    moved = np.log10(np.abs(after - before) / np.maximum(before, 2.0) + 1e-4)
    moves: list[float] = np.quantile(moved, [0.3, 0.8]).tolist()
    return moves
