"""Decodes audio files to mono blocks at the rate an encoder wants, and audits them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from otadtk.audio.clip_audit import SILENCE_SECONDS, AuditTally, ClipAudit, Samples, sum_of_squares
from otadtk.audio.excerpt import WHOLE, Excerpt
from otadtk.audio.find import PYAV_SUFFIXES
from otadtk.audio.heard import fitted, gain
from otadtk.audio.reading import Reading
from otadtk.errors import AudioError

_LENGTH_UNKNOWN = 0x7FFFF000
"""Programs that write to a pipe promise this many bytes or more, because they cannot know."""
_BLOCK_FRAMES = 1 << 16
"""About so many frames at a time: the copies of them that are made stay in cache."""
_SIXTEEN_BITS = np.float32(1.0 / (1 << 15))
_SEEKS_EXACTLY = frozenset({"WAV", "WAVEX", "RF64", "W64", "AIFF", "CAF", "FLAC"})
"""Formats in which libsndfile starts at a given sample without decoding what lies before."""
_SLACK = 0.01
"""Seconds by which a table may round the end of a file up."""

Block = tuple[Samples, int, int]
"""Frames × channels, their rate, and the place of the first frame in the file."""


class AudioReader:
    """Streams one file as mono float32 blocks at a given rate; ``audit`` is there at the end.

    A file of any length passes through in bounded memory, unless an unusual ``reading`` has to see
    the whole clip.
    """

    def __init__(
        self,
        path: Path,
        sample_rate: int,
        reading: Reading | None = None,
        excerpt: Excerpt = WHOLE,
    ) -> None:
        self._path = path
        self._excerpt = excerpt
        self._sample_rate = sample_rate
        self._reading = reading if reading is not None else Reading()
        self._tally: AuditTally | None = None
        self._missing = 0.0
        self._gain = 1.0
        self._power_read = self._power_given = 0.0

    def __iter__(self) -> Iterator[Samples]:
        """Mono blocks; an ``AudioError`` with the reason when the file cannot be scored."""
        return self._stream() if self._reading.usual else self._whole()

    def _audited(self) -> Iterator[tuple[Samples, int]]:
        """The decoded blocks, which the audit has seen."""
        blocks = _cut(_decode(self._path, self._excerpt.start), self._excerpt)
        for block, rate in _fitted(blocks, self._reading):
            if self._tally is None:
                self._tally = AuditTally(rate, block.shape[1])
                self._missing = _missing_fraction(self._path)
            self._tally.add(block)
            yield block, rate
        if self._tally is None or self._tally.frames == 0:
            raise AudioError("it has no samples")

    def _whole(self) -> Iterator[Samples]:
        blocks = [(self._reading.mono(block), rate) for block, rate in self._audited()]
        clip, rate = np.concatenate([block for block, _ in blocks]), blocks[0][1]
        self._gain = gain(clip, rate, self._reading)
        if self._gain != 1.0:
            clip = clip * np.float32(self._gain)
        yield self._reading.at_rate(clip, rate, self._sample_rate)

    def _stream(self) -> Iterator[Samples]:
        import soxr

        resampler = None
        for block, rate in self._audited():
            if resampler is None and rate != self._sample_rate:
                resampler = soxr.ResampleStream(rate, self._sample_rate, 1, quality="HQ")
            mono = self._reading.mono(block)
            if resampler is None:
                yield mono
                continue
            # to a higher rate nothing is lost but the resampler's edge; of one channel the audit knows
            if rate > self._sample_rate and block.shape[1] > 1:
                self._power_read += sum_of_squares(mono) / rate
            elif rate > self._sample_rate and self._tally is not None:
                self._power_read = self._tally.squares / rate
            yield self._counted(resampler.resample_chunk(mono))
        if resampler is not None:
            yield self._counted(resampler.resample_chunk(np.zeros(0, dtype=np.float32), last=True))

    def _counted(self, given: Samples) -> Samples:
        self._power_given += sum_of_squares(given) / self._sample_rate
        return given

    @property
    def audit(self) -> ClipAudit:
        """The audit of what is heard of the file, once it has been read to its end."""
        assert self._tally is not None, "the file has not been read"
        heard = self._power_given / self._power_read if self._power_read > 0.0 else 1.0
        found = self._tally.audit(self._missing, unheard=min(1.0, max(0.0, 1.0 - heard)))
        if self._gain == 1.0:
            return found
        return replace(found, peak=found.peak * self._gain, rms=(found.rms or 0.0) * self._gain)


def _missing_fraction(path: Path) -> float:
    """The fraction of the audio that the header of a wav or aiff file promises and the file lacks.

    libsndfile reads what is there and says nothing of the rest.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        container = file.read(12)
        orders: dict[bytes, Literal["little", "big"]] = {b"RIFF": "little", b"FORM": "big"}
        order = orders.get(container[:4])
        while order is not None and len(chunk := file.read(8)) == 8:
            promised = int.from_bytes(chunk[4:], order)
            if chunk[:4] == b"fmt ":
                _check_sample_width(file.read(16))
                file.seek(-16, os.SEEK_CUR)
            if chunk[:4] in (b"data", b"SSND"):
                held = size - file.tell()
                return 1.0 - held / promised if held < promised < _LENGTH_UNKNOWN else 0.0
            file.seek(promised + promised % 2, os.SEEK_CUR)  # chunks start at even offsets
    return 0.0


def _check_sample_width(description: bytes) -> None:
    """Refuse what libsndfile would read as something else: wav samples of a few bits."""
    codec, bits = (int.from_bytes(description[i : i + 2], "little") for i in (0, 14))
    if codec == 1 and bits not in (8, 16, 24, 32):
        raise AudioError(f"its header says {bits} bits a sample")


def _cut(blocks: Iterator[Block], excerpt: Excerpt) -> Iterator[tuple[Samples, int]]:
    """The blocks within an excerpt; an AudioError if the file ends before it does."""
    if excerpt.whole:
        yield from ((block, rate) for block, rate, _ in blocks)
        return
    ended, taken, rate = 0, 0, 0
    for block, rate, place in blocks:
        ended = place + len(block)
        first = round(excerpt.start * rate)
        last = ended if excerpt.end is None else round(excerpt.end * rate)
        kept = block[max(0, first - place) : max(0, last - place)]
        if excerpt.channel is not None:
            if excerpt.channel >= block.shape[1]:
                raise AudioError(f"it has no channel {excerpt.channel + 1}")
            kept = kept[:, [excerpt.channel]]
        taken += len(kept)
        if len(kept):
            yield kept, rate
        if last <= ended and excerpt.end is not None:
            return
    if rate and (not taken or (excerpt.end or 0.0) > ended / rate + _SLACK):
        wanted = (
            f"{excerpt.start:g} s to {'its end' if excerpt.end is None else f'{excerpt.end:g} s'}"
        )
        raise AudioError(f"it ends at {ended / rate:g} s, and the clip is {wanted}")


def _fitted(
    blocks: Iterator[tuple[Samples, int]], reading: Reading
) -> Iterator[tuple[Samples, int]]:
    """The seconds that a reading hears, as one block; without such a wish, the blocks as they are."""
    if reading.duration is None:
        yield from blocks
        return
    parts: list[Samples] = []
    held = rate = 0
    for block, rate in blocks:
        parts.append(block)
        held += len(block)
        if reading.crop != "centre" and held >= reading.duration * rate:
            break
    if parts:
        yield fitted(np.concatenate(parts), rate, reading), rate


def _decode(path: Path, start: float) -> Iterator[Block]:
    """(block of frames × channels, rate, place of its first frame) until the end of the file.

    What lies before ``start`` may be left out.
    """
    try:
        if path.suffix.lower() not in PYAV_SUFFIXES:
            yield from _decode_libsndfile(path, start)
            return
        place = 0
        for block, rate in _decode_pyav(path):
            yield block, rate, place
            place += len(block)
    except OSError as error:
        raise AudioError(f"it cannot be read: {error.strerror or error}") from error


def _decode_libsndfile(path: Path, start: float) -> Iterator[Block]:
    import soundfile

    try:
        with path.open("rb") as handle:
            if os.fstat(handle.fileno()).st_size == 0:
                raise AudioError("the file is empty")
            # by descriptor: libsndfile then reads itself, without callbacks that print errors
            with soundfile.SoundFile(handle.fileno(), closefd=False) as file:
                rate, place = int(file.samplerate), 0
                if file.format in _SEEKS_EXACTLY and 0 < round(start * rate) < file.frames:
                    place = file.seek(round(start * rate))
                window = max(1, round(SILENCE_SECONDS * rate))
                frames = window * max(1, _BLOCK_FRAMES // window)  # the audit's windows stay whole
                # libsndfile converts to floats one by one; of 16 bits numpy gets the same faster
                narrow = file.subtype == "PCM_16"
                kind = "int16" if narrow else "float32"
                while len(block := file.read(frames, dtype=kind, always_2d=True)):
                    yield block * _SIXTEEN_BITS if narrow else block, rate, place
                    place += len(block)
    except soundfile.LibsndfileError as error:
        raise AudioError(f"it is not readable audio: {error.error_string}") from error


def _decode_pyav(path: Path) -> Iterator[tuple[Samples, int]]:
    try:
        import av
    except ImportError:
        raise AudioError(
            f'{path.suffix} files need PyAV: pip install "otadtk-audio[av]", or convert them to flac'
        ) from None
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise AudioError("it has no audio stream")
            to_float = av.AudioResampler(format="fltp")
            for coded in container.decode(audio=0):
                for frame in to_float.resample(coded):
                    yield frame.to_ndarray().T.astype(np.float32), int(frame.sample_rate)
    except av.FFmpegError as error:
        raise AudioError(f"it is not readable audio: {error.strerror}") from error
