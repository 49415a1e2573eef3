"""The sound of a clip for a page: waveform, mel spectrogram, loudness, and Ogg Vorbis."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.decode import AudioReader
from otadtk.audio.inputs import Clip, opened
from otadtk.audio.reading import SILENCE_PEAK, Reading

Samples = NDArray[np.float32]
Grid = NDArray[np.uint8]

LONGEST_SECONDS = 60.0
"""Longer clips are cut here."""
COLUMNS, BANDS = 160, 40
_LOWEST_HERTZ, _HIGHEST_HERTZ = 40.0, 16_000.0
_DECIBELS = 80.0
_QUIETEST_PEAK_DECIBELS = -60.0
"""Pictures of clips quieter than this are not brightened further."""
_WINDOW = 2048
_BLOCK = 1 << 15

# Numerators and denominators of the two K-weighting filters at 48 kHz (ITU-R BS.1770-4, tables 1, 2)
_K_WEIGHTING = (
    (
        (1.53512485958697, -2.69169618940638, 1.19839281085285),
        (1.0, -1.69065929318241, 0.73248077421585),
    ),
    ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621)),
)


@dataclass(frozen=True, eq=False)
class Sketch:
    """The pictures and the loudness of a clip."""

    seconds: float
    """Length of what was read, at most ``LONGEST_SECONDS``."""
    whole: bool
    """Whether that is the whole clip."""
    wave: Grid
    """(2, columns): lowest and highest sample of each column, 128 for zero."""
    mel: Grid
    """(bands, columns): level of each band, low bands first, 0 for -80 dB and below."""
    loudness: float | None
    """K-weighted level in dB below full scale, without gating; ``None`` for silence."""
    silent: NDArray[np.bool_]
    """(columns,): where the clip is silent."""


@dataclass(frozen=True, eq=False)
class Sound:
    """A clip as mono samples, up to ``LONGEST_SECONDS``."""

    samples: Samples
    sample_rate: int
    whole: bool
    """Whether that is the whole clip."""


def read_sound(clip: Clip, sample_rate: int, reading: Reading | None = None) -> Sound:
    """The sound of a clip as mono at its own ``sample_rate``, as an encoder hears it."""
    blocks, held, most = [], 0, int(LONGEST_SECONDS * sample_rate)
    with opened(clip) as path:
        for block in AudioReader(path, sample_rate, reading, clip.excerpt):
            blocks.append(block)
            held += len(block)
            if held > most:
                break
    return Sound(np.concatenate(blocks)[:most], sample_rate, held <= most)


def sketch(sound: Sound) -> Sketch:
    """The sketch of a sound."""
    samples, sample_rate = sound.samples, sound.sample_rate
    lowest, highest = _columns(samples, np.minimum), _columns(samples, np.maximum)
    power = _power(samples)
    return Sketch(
        seconds=len(samples) / sample_rate,
        whole=sound.whole,
        wave=np.stack([_level(lowest * 127 + 128), _level(highest * 127 + 128)]),
        mel=_mel_picture(power, sample_rate),
        loudness=_loudness(power, sample_rate),
        silent=np.maximum(highest, -lowest) < SILENCE_PEAK,
    )


def encode_vorbis(sound: Sound) -> bytes:
    """The sound as Ogg Vorbis at about 70 kbit/s, which browsers play."""
    import soundfile

    target = io.BytesIO()
    with soundfile.SoundFile(
        target, "w", sound.sample_rate, 1, format="OGG", subtype="VORBIS", compression_level=0.5
    ) as file:
        for start in range(0, len(sound.samples), _BLOCK):  # libvorbis copies a write to the stack
            file.write(sound.samples[start : start + _BLOCK])
    return target.getvalue()


def as_text(grid: Grid) -> str:
    """Bytes in base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(grid).tobytes()).decode("ascii")


def _edges(count: int) -> NDArray[np.intp]:
    """The sample where each column starts; short clips repeat some."""
    return np.minimum(np.arange(COLUMNS) * count // COLUMNS, count - 1)


def _columns(values: NDArray[np.float32], reduce: np.ufunc) -> NDArray[np.float32]:
    result: NDArray[np.float32] = reduce.reduceat(values, _edges(values.shape[-1]), axis=-1)
    return result


def _level(values: NDArray[np.floating]) -> Grid:
    levels: Grid = np.clip(np.round(values), 0, 255).astype(np.uint8)
    return levels


def _power(samples: Samples) -> NDArray[np.float32]:
    """Power spectra ``(frames, bins)``; a full-scale sine peaks at 1."""
    window = min(_WINDOW, len(samples) + len(samples) % 2)
    hop = max(window // 2, 1)
    padded = np.pad(samples, (0, window - hop + -len(samples) % hop))
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    taper = np.hanning(window + 1)[:-1].astype(np.float32)
    spectra = np.abs(np.fft.rfft(frames * taper, axis=1)) * (2 / max(float(taper.sum()), 1e-9))
    return np.square(spectra).astype(np.float32)


def _loudness(power: NDArray[np.float32], sample_rate: int) -> float | None:
    """The K-weighted level, a full-scale sine of 1 kHz at about −3 dB; ``None`` for silence."""
    # Parseval: a Hann window smears a bin over 1.5 bins, and a sine's power is half its peak
    level = float(power.mean(axis=0) @ _k_weights(power.shape[1], sample_rate)) / 3
    return 10 * float(np.log10(level)) if level > SILENCE_PEAK**2 else None


@cache
def _k_weights(bins: int, sample_rate: int) -> NDArray[np.float64]:
    """The power gain of the K-weighting filters in every bin."""
    from scipy.signal import freqz

    # the published filters end at 24 kHz, where their gain is flat
    hertz = np.minimum(np.linspace(0, sample_rate / 2, bins), 23_999.0)
    gain = np.ones(bins)
    for numerator, denominator in _K_WEIGHTING:
        gain *= np.abs(freqz(numerator, denominator, worN=hertz * 2 * np.pi / 48_000)[1]) ** 2
    return gain


def _mel_picture(power: NDArray[np.float32], sample_rate: int) -> Grid:
    """Levels of mel bands over time, relative to the loudest."""
    filters = _mel_filters(power.shape[1], sample_rate)
    bands = _columns(np.ascontiguousarray((power @ filters).T), np.maximum)
    decibels = 10 * np.log10(np.maximum(bands, 1e-20))
    top = max(float(decibels.max()), _QUIETEST_PEAK_DECIBELS)
    return _level((decibels - top) / _DECIBELS * 255 + 255)


@cache
def _mel_filters(bins: int, sample_rate: int) -> NDArray[np.float32]:
    """Triangles ``(bins, bands)`` of height 1, equally spaced on the mel scale of HTK."""

    def mel(hertz: NDArray[np.floating] | float) -> NDArray[np.float64]:
        return np.asarray(2595 * np.log10(1 + np.asarray(hertz) / 700))

    highest = min(_HIGHEST_HERTZ, sample_rate / 2)
    edges = np.linspace(mel(min(_LOWEST_HERTZ, highest / 2)), mel(highest), BANDS + 2)
    bin_mels, centres = mel(np.linspace(0, sample_rate / 2, bins))[:, None], edges[1:-1]
    triangles = np.maximum(0.0, 1 - np.abs(bin_mels - centres) / (edges[1] - edges[0]))
    # low bands are narrower than a bin: each takes at least half of its nearest one
    nearest = np.abs(bin_mels - centres).argmin(axis=0), np.arange(BANDS)
    triangles[nearest] = np.maximum(triangles[nearest], 0.5)
    filters: NDArray[np.float32] = triangles.astype(np.float32)
    return filters
