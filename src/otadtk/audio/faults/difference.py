"""How different two versions of a clip sound: the measure that puts all faults on one scale.

Both clips are played as loud as makes the clean one reach 70 dB in its loud parts. Energies in
bands of equal width for the ear (ERB) are spread to neighbouring bands, which masks what lies
beside a loud band, and raised to a power of 0.25, which stands for loudness; energy below the
threshold of hearing counts for nothing. The difference is the share of the loudness that the two
do not have in common: the absolute difference over the greater of the two, each summed over bands
and as a root mean square over time. It is computed twice and averaged: with 40 bands in frames of
32 ms, and with 20 bands in frames of 4 ms, which sees clicks, gaps and smeared attacks. 0 is the
same sound, 1 is as different as silence.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

from otadtk.audio.faults.fault import Signal
from otadtk.audio.faults.stft import frame_size, spectra_of

LOUD = 70.0
"""Level of the clean clip's loud parts, dB."""
EXPONENT = 0.25
RESOLUTIONS = ((0.032, 40, 0.0), (0.004, 20, 0.002))
"""Frame in seconds, number of bands, and time constant of forward masking in seconds."""
LOWEST, HIGHEST = 40.0, 16_000.0


def _erb_rate(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    return 21.4 * np.log10(1.0 + 0.00437 * hertz)


@cache
def _bands(size: int, rate: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of the bins in every band, with spreading, and the bands' thresholds of hearing."""
    frequencies = np.linspace(0.0, rate / 2, size // 2 + 1)
    place = _erb_rate(frequencies)
    ends = _erb_rate(np.array([LOWEST, min(HIGHEST, rate / 2)]))
    edges = np.linspace(ends[0], ends[1], count + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    width = edges[1] - edges[0]
    distance = place[None, :] - centres[:, None]  # in ERB; positive: the bin lies above the band
    beyond = np.maximum(np.abs(distance) - width / 2, 0.0)
    loss = np.where(distance > 0.0, 25.0, 10.0) * beyond  # masking reaches farther upwards
    weights = 10 ** (-np.minimum(loss, 100.0) / 10)
    weights[:, frequencies < LOWEST / 2] = 0.0
    kilohertz = (10 ** (centres / 21.4) - 1.0) / 4.37
    quiet = (
        3.64 * kilohertz**-0.8 - 6.5 * np.exp(-0.6 * (kilohertz - 3.3) ** 2) + 1e-3 * kilohertz**4
    )
    return weights.T, 10 ** (np.clip(quiet, 3.0, 60.0) / 10)


def loudness(signal: Signal, rate: int, seconds: float, count: int, decay: float) -> Signal:
    """Loudness in frames by bands; a signal of mean square 1 has 0 dB."""
    size = frame_size(seconds, rate)
    weights, quiet = _bands(size, rate, count)
    power = np.square(np.abs(spectra_of(signal, size)), dtype=np.float64) / (0.375 * size**2 / 2)
    energy = power @ weights
    if decay:
        keep = float(np.exp(-size / 4 / rate / decay))
        energy = np.asarray(lfilter([1.0 - keep], [1.0, -keep], energy, axis=0))
    return (energy + quiet) ** EXPONENT - quiet**EXPONENT


def _without_offset(signal: Signal, rate: int) -> Signal:
    """The signal above 30 Hz: nobody hears an offset, but its leakage reaches every band."""
    return np.asarray(sosfilt(butter(2, 30.0, "highpass", fs=rate, output="sos"), signal))


def _playback(clean: Signal, rate: int) -> float:
    """The gain that brings the clip's loud parts to ``LOUD`` dB over a mean square of 1."""
    size = max(1, min(len(clean), int(0.03 * rate)))
    whole = len(clean) // size * size
    levels = np.sqrt(np.mean(np.square(clean[:whole].reshape(-1, size)), axis=1))
    return float(10 ** (LOUD / 20) / max(np.quantile(levels, 0.95), 1e-5))


def audible_difference(clean: Signal, spoilt: Signal, rate: int) -> float:
    """How different two aligned versions of one clip sound: 0 alike, 1 as unlike as silence."""
    clean, spoilt = _without_offset(clean, rate), _without_offset(spoilt, rate)
    gain = _playback(clean, rate)
    parts = []
    for seconds, count, decay in RESOLUTIONS:
        first = loudness(clean * gain, rate, seconds, count, decay)
        second = loudness(spoilt * gain, rate, seconds, count, decay)
        change = np.sqrt(np.mean(np.mean(np.abs(second - first), axis=1) ** 2))
        whole = np.sqrt(np.mean(np.mean(np.maximum(first, second), axis=1) ** 2))
        parts.append(float(change / max(whole, 1e-9)))
    return float(np.mean(parts))
