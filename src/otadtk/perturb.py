"""Seeded perturbations of a waveform: the faults that generated audio has, made on purpose.

Every function takes a mono waveform, its rate and a random generator, and gives a new float32
waveform of the same length. ``strength`` runs from 0 (barely there) to 1 (severe).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

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
    energy = np.convolve(np.square(waveform, dtype=np.float64), np.ones(length), mode="valid")
    audible = np.flatnonzero(energy >= 0.5 * energy.max())
    start = int(rng.choice(audible))
    return np.resize(waveform[start : start + length], len(waveform)).astype(np.float32)


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
    "silence": lambda w, rate, rng, s: silence(w),
}
"""Every kind of fault by name, on one scale of strength."""


def perturb(
    kind: str, waveform: Waveform, rate: int, rng: np.random.Generator, strength: float = 0.5
) -> Waveform:
    """The waveform with one kind of fault; the same generator state gives the same fault.

    >>> import numpy as np
    >>> from otadtk.perturb import perturb
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
