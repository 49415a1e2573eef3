"""Change over time: modulation, decays and onsets, pre-echo, frozen frames, periodicity."""

from __future__ import annotations

import numpy as np

from otadtk.encoders.features.quantiles import quantiles
from otadtk.encoders.features.texture.spectrogram import Floats, Spectrogram

_MODULATION_HZ = ((0.5, 2.0), (2.0, 4.0), (4.0, 8.0), (8.0, 16.0), (16.0, 32.0), (32.0, 62.0))
NAMES = (
    *("harmonic", "most_harmonic", "least_harmonic"),
    *(f"modulation_{round(low)}_{band}" for band in range(3) for low, _ in _MODULATION_HZ),
    *(f"{name}_{band}" for band in range(3) for name in ("decay", "fast_decay", "rise")),
    *("onset_sharpness", "pre_echo", "onset_width"),
    *("frozen", "mostly_frozen", "flux_ratio", "flux"),
)
_ONSETS = 5
_LEAST_MILLISECONDS = 120


def measure(s: Spectrogram) -> list[float]:
    """All of them, in the order of ``NAMES``."""
    return [*_harmonicity(s), *_modulation(s), *_decays(s), *_onsets(s), *_frozen(s)]


def _harmonicity(s: Spectrogram) -> list[float]:
    """Quantiles over frames of the highest autocorrelation at a pitch of 70 to 1000 Hz."""
    from scipy.fft import irfft, rfft

    window = np.hanning(s.size + 1)[:-1]
    own = irfft(np.abs(rfft(window)) ** 2)
    lags = slice(s.rate // 1000, round(0.0144 * s.rate))
    correlation = irfft(s.power if s.loud.all() else s.power[s.loud], axis=1)
    usual = own[lags] / own[0] + 0.05  # the window's own correlation
    highest = (correlation[:, lags] * (1 / usual).astype(np.float32)).max(axis=1)
    return quantiles(highest / (correlation[:, 0] + 1e-9), (0.5, 0.9, 0.1))


def _modulation(s: Spectrogram) -> list[float]:
    """Power of the envelope of each band by modulation frequency, log10."""
    from scipy.fft import rfft

    count = len(s.power)
    length = max(256, count)
    frequency = np.arange(length // 2 + 1) * s.rate / s.hop / length
    found: list[float] = []
    for band_power in s.band_power:
        envelope = np.sqrt(band_power + 1e-9)
        envelope = envelope / envelope.mean()
        power = np.abs(rfft(envelope - envelope.mean(), length)) ** 2 / count
        for low, high in _MODULATION_HZ:
            inside = power[(frequency >= low) & (frequency < high)]
            found.append(float(np.log10(inside.mean() + 1e-4)) if inside.size else -2.0)
    return found


def _decays(s: Spectrogram) -> list[float]:
    """Quantiles of the change of level in 24 ms by band: reverberation slows the decays."""
    both = s.loud[3:] & s.loud[:-3]
    found: list[float] = []
    for power in s.band_power:
        level = 10 * np.log10(power + 1e-6)
        change = (level[3:] - level[:-3])[both] if both.any() else np.zeros(1)
        found += [q / 10 for q in quantiles(change, (0.25, 0.03, 0.97))]
    return found


def _onsets(s: Spectrogram) -> list[float]:
    """The five sharpest onsets: their rise in 5 ms, what is heard before, how long they take."""
    from scipy.ndimage import uniform_filter1d

    step = max(1, s.rate // 1000)
    bend = np.diff(s.waveform, prepend=s.waveform[:1])
    count = len(bend) // step
    if count <= _LEAST_MILLISECONDS:
        return [0.0, 0.0, 0.0]
    level = 10 * np.log10((bend[: count * step].reshape(count, step) ** 2).mean(axis=1) + 1e-7)
    level = uniform_filter1d(level, 3)
    rise: Floats = level[5:] - level[:-5]
    chosen: list[int] = []
    for place in np.argsort(rise, kind="stable")[::-1][:400].tolist():
        if all(abs(place - other) > 60 for other in chosen):
            chosen.append(place)
        if len(chosen) == _ONSETS:
            break
    sharpness, before, width = [], [], []
    for place in chosen:
        top = float(level[place + 5 : place + 15].max())
        near = float(level[max(0, place - 12) : max(1, place - 1)].mean())
        far = float(level[max(0, place - 70) : max(1, place - 30)].mean())
        around = level[max(0, place - 30) : place + 15]
        sharpness.append(float(rise[place]))
        before.append((near - far) / max(top - far, 6.0))
        width.append(float(((around < top - 3) & (around > top - 20)).sum()))
    return [
        float(np.mean(sharpness)) / 20,
        float(np.mean(before)),
        float(np.log10(np.mean(width) + 1)),
    ]


def _frozen(s: Spectrogram) -> list[float]:
    """Quantiles of the change of the spectrum in 32 ms: none while frames repeat."""
    from scipy.ndimage import uniform_filter1d

    spectra = np.log(uniform_filter1d(s.power, 5, axis=1) + 1e-5)
    flux = np.abs(spectra[4:] - spectra[:-4]).mean(axis=1)
    both = s.loud[4:] & s.loud[:-4]
    low, some, half, high = quantiles(flux[both] if both.any() else flux, (0.02, 0.15, 0.5, 0.9))
    values = [low, some, (high + 0.02) / (half + 0.02) - 0.02, half]
    return [float(np.log10(value + 0.02)) for value in values]
