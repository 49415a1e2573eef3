"""Faults of lossy codecs at low rates: libsndfile's, and AAC where PyAV is installed.

Bits that are too few for the clip's sample rate are spent at a lower one, as encoders do.
"""

from __future__ import annotations

import inspect
import io
from importlib.util import find_spec

import numpy as np
import soundfile
from scipy.fft import irfft, next_fast_len, rfft

from otadtk.audio.faults.fault import Family, Signal
from otadtk.audio.faults.samples import fitted, lengthened

KINDS = Family("codec")
SHORTEST = 4096
"""Samples that a codec gets at least; shorter clips are padded with silence."""
MPEG_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
OPUS_RATES = (8000, 12000, 16000, 24000, 48000)


def _lacks(container: str, subtype: str) -> str:
    """What has to be installed before libsndfile writes this codec; empty where it does."""
    if subtype not in soundfile.available_subtypes(container):
        return f"a libsndfile with {subtype}"
    compresses = "compression_level" in inspect.signature(soundfile.write).parameters
    return "" if compresses or container == "WAV" else "soundfile 0.13 or later"


def _through_file(signal: Signal, rate: int, container: str, subtype: str, **how: object) -> Signal:
    """The signal encoded into memory by libsndfile and decoded again."""
    file = io.BytesIO()
    soundfile.write(file, signal.astype(np.float32), rate, subtype, format=container, **how)
    file.seek(0)
    return np.asarray(soundfile.read(file, dtype="float64")[0])


def _rate_for(kilobits: float, rate: int, known: tuple[int, ...]) -> int:
    """The lowest known sample rate that so many kilobits a second, or the clip, ask for."""
    wanted = min(rate, round(900 * kilobits))
    return next((each for each in known if each >= wanted), known[-1])


def _mpeg_rate(kilobits: float, rate: int, rng: np.random.Generator) -> int:
    """A rate that suits the bits, or one too high for them, as a careless encoder takes it."""
    bits = 8 * kilobits if rng.random() < 0.5 else kilobits
    return min(_rate_for(bits, rate, MPEG_RATES), 24_000 if kilobits < 48.0 else 48_000)


def _at_rate(signal: Signal, rate: int, other: int) -> Signal:
    """The clip at another rate, with silence after it where it is short."""
    moved = lengthened(signal, max(1, round(len(signal) * other / rate)))
    return fitted(moved, max(len(moved), SHORTEST))


def _back(coded: Signal, rate: int, other: int, length: int) -> Signal:
    """What was coded at another rate, at the clip's rate and length."""
    return lengthened(fitted(coded, max(1, round(length * other / rate))), length)


def _aligned(coded: Signal, signal: Signal, longest: int = 3000) -> Signal:
    """The coded signal without the delay of its codec, found by correlation."""
    length = next_fast_len(len(coded) + len(signal), real=True)
    likeness = irfft(rfft(coded, length) * np.conj(rfft(signal, length)), length)
    return coded[int(np.argmax(likeness[:longest])) :]


@KINDS.add(
    "compression level up to 1, then powers of 1/4 of the sample rate",
    mild=0.0,
    gross=2.5,
    missing=_lacks("OGG", "VORBIS"),
)
def vorbis(signal: Signal, rate: int, rng: np.random.Generator, level: float) -> Signal:
    """Ogg Vorbis of low quality, then at lower sample rates."""
    other = max(2000, round(rate * 0.25 ** max(0.0, level - 1.0)))
    moved = _at_rate(signal, rate, other)
    coded = _through_file(moved, other, "OGG", "VORBIS", compression_level=min(level, 1.0))
    return _back(coded, rate, other, len(signal))


@KINDS.add("kbit/s", mild=128.0, gross=6.0, geometric=True, missing=_lacks("OGG", "OPUS"))
def opus(signal: Signal, rate: int, rng: np.random.Generator, kilobits: float) -> Signal:
    """Opus at a low rate."""
    other = _rate_for(rate, rate, OPUS_RATES)  # the codec narrows its band by itself
    moved = _at_rate(signal, rate, other)
    level = min(1.0, (256.0 - kilobits) / 250.0)
    coded = _through_file(moved, other, "OGG", "OPUS", compression_level=level)
    return _back(coded, rate, other, len(signal))


@KINDS.add("kbit/s", mild=128.0, gross=8.0, geometric=True, missing=_lacks("MP3", "MPEG_LAYER_III"))
def mp3(signal: Signal, rate: int, rng: np.random.Generator, kilobits: float) -> Signal:
    """MP3 at a low constant rate."""
    other = _mpeg_rate(kilobits, rate, rng)
    most, least = (320, 32) if other >= 32_000 else (160, 8) if other >= 16_000 else (64, 8)
    level = float(np.clip((most - kilobits) / (most - least), 0.0, 0.999))
    moved = _at_rate(signal, rate, other)
    how = {"compression_level": level, "bitrate_mode": "CONSTANT"}
    coded = _through_file(moved, other, "MP3", "MPEG_LAYER_III", **how)
    if len(coded) != len(moved):  # no room for the header that states the delay
        coded = _aligned(coded, moved)
    return _back(coded, rate, other, len(signal))


def _in_wav(signal: Signal, rate: int, ratio: float, subtype: str) -> Signal:
    """The clip through a codec of WAV files, at a multiple of its sample rate."""
    other = max(1, round(rate * ratio))
    moved = _at_rate(signal, rate, other)
    scale = float(np.abs(moved).max()) / 0.9 + 1e-9
    return _back(
        _through_file(moved / scale, other, "WAV", subtype) * scale, rate, other, len(signal)
    )


@KINDS.add(
    "ratio of the rates", mild=4.0, gross=0.06, geometric=True, missing=_lacks("WAV", "MS_ADPCM")
)
def adpcm(signal: Signal, rate: int, rng: np.random.Generator, ratio: float) -> Signal:
    """ADPCM of four bits per sample (IMA or Microsoft) at another sample rate."""
    return _in_wav(signal, rate, ratio, str(rng.choice(["IMA_ADPCM", "MS_ADPCM"])))


@KINDS.add(
    "ratio of the rates", mild=2.0, gross=0.06, geometric=True, missing=_lacks("WAV", "GSM610")
)
def gsm(signal: Signal, rate: int, rng: np.random.Generator, ratio: float) -> Signal:
    """The GSM speech codec at another sample rate."""
    return _in_wav(signal, rate, ratio, "GSM610")


@KINDS.add(
    "kbit/s",
    mild=128.0,
    gross=8.0,
    geometric=True,
    missing="" if find_spec("av") else "otadtk-audio[av]",
)
def aac(signal: Signal, rate: int, rng: np.random.Generator, kilobits: float) -> Signal:
    """AAC at a low rate."""
    import av

    other = _mpeg_rate(kilobits, rate, rng)
    moved = _at_rate(signal, rate, other).astype(np.float32)
    encoder = av.CodecContext.create("aac", "w")
    encoder.sample_rate, encoder.layout, encoder.format = other, "mono", "fltp"
    encoder.bit_rate = round(1000 * kilobits)
    encoder.open()
    size = encoder.frame_size
    packets = []
    for start in range(0, len(moved), size):
        block = np.pad(moved[start : start + size], (0, max(0, start + size - len(moved))))
        frame = av.AudioFrame.from_ndarray(block[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = other, start
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    decoder = av.CodecContext.create("aac", "r")
    decoder.extradata = encoder.extradata
    frames = [frame for packet in [*packets, None] for frame in decoder.decode(packet)]
    coded = np.concatenate([frame.to_ndarray()[0] for frame in frames]).astype(np.float64)
    return _back(coded[size:], rate, other, len(signal))  # the encoder starts one frame early
