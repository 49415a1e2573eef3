"""The first thirteen kinds of fault, seeded, each on a scale of its own.

Every function takes a mono waveform and gives a new float32 waveform of the same length.
``strength`` runs from 0 (barely there) to 1 (severe). The demo, the experiments and the ``artifact``
adapter use these kinds, so their output stays the same to the last bit. ``otadtk.audio.faults`` has
many more kinds, on one calibrated scale.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfiltfilt

from otadtk.errors import UsageError

Waveform = NDArray[np.float32]
Perturbation = Callable[[Waveform, int, np.random.Generator, float], Waveform]


def add_noise(waveform: Waveform, rng: np.random.Generator, *, snr_db: float) -> Waveform:
    """White Gaussian noise added at a signal-to-noise ratio over the whole clip."""
    power = float(np.mean(np.square(waveform, dtype=np.float64)))
    noise = rng.standard_normal(len(waveform))
    return _float32(waveform + noise * np.sqrt(power / 10 ** (snr_db / 10)))


def shuffle_segments(
    waveform: Waveform,
    rate: int,
    rng: np.random.Generator,
    *,
    segments: int,
    crossfade_seconds: float = 0.01,
) -> Waveform:
    """The clip cut into equal segments and put together in another order, with crossfades."""
    if segments < 2 or len(waveform) < 2 * segments:
        raise UsageError(f"A clip of {len(waveform)} samples cannot be cut in {segments} segments.")
    edges = np.linspace(0, len(waveform), segments + 1).astype(int)
    order = rng.permutation(segments)
    while np.array_equal(order, np.arange(segments)):
        order = rng.permutation(segments)
    fade = min(int(crossfade_seconds * rate), int(np.diff(edges).min()) // 2)
    shuffled = np.concatenate([waveform[edges[k] : edges[k + 1]] for k in order]).astype(np.float64)
    ramp = np.linspace(0.0, 1.0, fade)
    continued = np.pad(waveform, (0, fade), mode="reflect")  # the clip's end has no sequel
    position = 0
    for left, right in pairwise(order):
        position += edges[left + 1] - edges[left]
        # what would have followed the left segment fades out while the right one fades in
        tail = continued[edges[left + 1] : edges[left + 1] + fade]
        stop = position + fade
        head = waveform[edges[right] : edges[right] + fade]
        shuffled[position:stop] = ramp * head + (1.0 - ramp) * tail
    return _float32(shuffled)


def add_clicks(
    waveform: Waveform, rate: int, rng: np.random.Generator, *, per_second: float, height: float
) -> Waveform:
    """Impulses of a few samples at random places, ``height`` times the clip's peak."""
    clicked = waveform.astype(np.float64)
    count = max(1, round(per_second * len(waveform) / rate))
    peak = max(float(np.abs(waveform).max(initial=0.0)), 1e-2)
    shape = np.array([1.0, -0.7, 0.4, -0.2])
    for start in rng.integers(0, max(1, len(waveform) - len(shape)), size=count):
        place = clicked[start : start + len(shape)]
        place += rng.choice([-1.0, 1.0]) * height * peak * shape[: len(place)]
    return _float32(np.clip(clicked, -1.0, 1.0))


def drop_out(
    waveform: Waveform, rate: int, rng: np.random.Generator, *, per_second: float, seconds: float
) -> Waveform:
    """Short gaps of silence with hard edges at random places."""
    holed = waveform.copy()
    length = max(1, int(seconds * rate))
    count = max(1, round(per_second * len(waveform) / rate))
    for start in rng.integers(0, max(1, len(waveform) - length), size=count):
        holed[start : start + length] = 0.0
    return holed


def clip_samples(waveform: Waveform, *, share: float) -> Waveform:
    """The clip driven into full scale until that share of its samples is cut off at ±1."""
    level = float(np.quantile(np.abs(waveform), 1.0 - share))
    return _float32(np.clip(waveform / max(level, 1e-6), -1.0, 1.0))


def limit_band(waveform: Waveform, rate: int, *, cutoff_hz: float) -> Waveform:
    """The clip without what lies above a frequency (8th order, zero phase)."""
    if cutoff_hz >= rate / 2 or len(waveform) < 64:
        return waveform.copy()
    return _float32(sosfiltfilt(butter(4, cutoff_hz, fs=rate, output="sos"), waveform))


def loop_fragment(
    waveform: Waveform, rate: int, rng: np.random.Generator, *, seconds: float
) -> Waveform:
    """One fragment of the clip, taken where it sounds, repeated to the clip's length."""
    length = min(max(1, int(seconds * rate)), len(waveform))
    total = np.concatenate([[0.0], np.cumsum(np.square(waveform, dtype=np.float64))])
    energy = total[length:] - total[:-length]
    audible = np.flatnonzero(energy >= 0.5 * energy.max())
    start = int(rng.choice(audible))
    return np.resize(waveform[start : start + length], len(waveform)).astype(np.float32)


def add_hum(
    waveform: Waveform, rate: int, rng: np.random.Generator, *, level_db: float
) -> Waveform:
    """Mains hum, 50 or 60 Hz with its harmonics, at a level against the whole clip."""
    time = np.arange(len(waveform)) / rate
    base = rng.choice([50.0, 60.0])
    partials = np.arange(1, 13)
    phases = rng.uniform(0.0, 2.0 * np.pi, size=len(partials))
    hum = sum(
        np.sin(2.0 * np.pi * base * k * time + phase) / k
        for k, phase in zip(partials, phases, strict=True)
    )
    power = float(np.mean(np.square(waveform, dtype=np.float64)))
    scale = np.sqrt(power * 10 ** (level_db / 10) / max(float(np.mean(np.square(hum))), 1e-12))
    return _float32(waveform + scale * hum)


def hold_samples(waveform: Waveform, *, factor: int) -> Waveform:
    """Every ``factor``-th sample, held: a lower rate without the filter that should go before it."""
    return np.repeat(waveform[::factor], factor)[: len(waveform)].astype(np.float32)


def crush_bits(waveform: Waveform, *, bits: float) -> Waveform:
    """The clip on a coarse scale of 2 to the power of ``bits`` levels over its own range."""
    step = 2.0 * max(float(np.abs(waveform).max(initial=0.0)), 1e-6) / 2.0**bits
    return _float32(np.round(waveform / step) * step)


def make_holes(waveform: Waveform, rng: np.random.Generator, *, share: float) -> Waveform:
    """Random tiles of the spectrogram set to zero, as a starved codec or vocoder leaves it."""
    size, hop = 512, 256
    if len(waveform) < size:
        return waveform.copy()
    window = np.hanning(size + 1)[:-1]
    padded = np.pad(waveform, (size, 2 * size))
    starts = np.arange(0, len(padded) - size + 1, hop)
    spectra = np.fft.rfft(padded[starts[:, None] + np.arange(size)] * window, axis=1)
    tiles = rng.random((len(starts) // 4 + 1, spectra.shape[1] // 8 + 1)) < share
    spectra[
        np.repeat(np.repeat(tiles, 4, axis=0), 8, axis=1)[: len(starts), : spectra.shape[1]]
    ] = 0
    frames = np.fft.irfft(spectra, n=size, axis=1)  # Hann at half overlap sums to one
    holed = np.zeros(len(padded))
    for start, frame in zip(starts, frames, strict=True):
        holed[start : start + size] += frame
    return _float32(holed[size : size + len(waveform)])


def make_metallic(waveform: Waveform, rate: int, *, seconds: float, feedback: float) -> Waveform:
    """A comb filter: each sound rings at the multiples of 1/``seconds``."""
    delay = max(1, int(seconds * rate))
    comb = np.zeros(delay + 1)
    comb[0], comb[-1] = 1.0, -feedback
    rung = lfilter([1.0], comb, waveform.astype(np.float64))
    before, after = np.sqrt(np.mean(np.square(waveform))), np.sqrt(np.mean(np.square(rung)))
    return _float32(rung * (before / max(after, 1e-9)))


def silence(waveform: Waveform) -> Waveform:
    """Digital silence of the same length."""
    return np.zeros_like(waveform)


def _float32(waveform: NDArray[np.float64]) -> Waveform:
    return waveform.astype(np.float32)


PERTURBATIONS: dict[str, Perturbation] = {
    "noise": lambda w, rate, rng, s: add_noise(w, rng, snr_db=20.0 - 20.0 * s),
    "shuffle": lambda w, rate, rng, s: shuffle_segments(w, rate, rng, segments=round(6 + 18 * s)),
    "clicks": lambda w, rate, rng, s: add_clicks(
        w, rate, rng, per_second=1.0 + 7.0 * s, height=0.5 + s
    ),
    "dropouts": lambda w, rate, rng, s: drop_out(
        w, rate, rng, per_second=1.0 + 4.0 * s, seconds=0.02 + 0.08 * s
    ),
    "clipping": lambda w, rate, rng, s: clip_samples(w, share=0.05 + 0.35 * s),
    "band_limit": lambda w, rate, rng, s: limit_band(w, rate, cutoff_hz=4000.0 * 0.125**s),
    "loop": lambda w, rate, rng, s: loop_fragment(w, rate, rng, seconds=0.5 - 0.4 * s),
    "hum": lambda w, rate, rng, s: add_hum(w, rate, rng, level_db=-15.0 + 15.0 * s),
    "hold": lambda w, rate, rng, s: hold_samples(w, factor=2 + round(4 * s)),
    "crush": lambda w, rate, rng, s: crush_bits(w, bits=7.0 - 4.0 * s),
    "holes": lambda w, rate, rng, s: make_holes(w, rng, share=0.2 + 0.5 * s),
    "metallic": lambda w, rate, rng, s: make_metallic(
        w, rate, seconds=0.004 + 0.008 * s, feedback=0.5 + 0.4 * s
    ),
    "silence": lambda w, rate, rng, s: silence(w),
}
"""Every kind by name; its strengths are steps of its own parameters, not a common scale."""


def perturb(
    kind: str, waveform: Waveform, rate: int, rng: np.random.Generator, strength: float = 0.5
) -> Waveform:
    """The waveform with one kind of fault; the same generator state gives the same fault.

    >>> import numpy as np
    >>> from otadtk.audio.perturb import perturb
    >>> tone = np.sin(np.arange(16000) / 10).astype(np.float32)
    >>> perturb("silence", tone, 16000, np.random.default_rng(0)).any()
    np.False_
    """
    if kind not in PERTURBATIONS:
        raise UsageError(f"Unknown perturbation {kind!r}; known: {', '.join(PERTURBATIONS)}.")
    if not 0.0 <= strength <= 1.0:
        raise UsageError(f"The strength of a perturbation is between 0 and 1, not {strength}.")
    if len(waveform) == 0:
        raise UsageError("An empty waveform cannot be perturbed.")
    return PERTURBATIONS[kind](waveform, rate, rng, strength)
