"""Finds audio files, decodes them to mono at the rate an encoder wants, and audits each on the way."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import AudioError
from otadtk.places import is_remote, list_files, url_of

logger = logging.getLogger(__name__)

LIBSNDFILE_SUFFIXES = frozenset(
    {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".caf"}
)
PYAV_SUFFIXES = frozenset({".m4a", ".aac", ".webm", ".mp4"})
AUDIO_SUFFIXES = LIBSNDFILE_SUFFIXES | PYAV_SUFFIXES

CACHE_FOLDERS = frozenset(
    {"convert", "embeddings", "embedding", "fad_stats", "kernel_stats", "stats"}
)
"""Where kadtk, fadtk and otadtk 0.1.2 keep their caches, converted audio among them."""

SILENCE_PEAK = 1e-4
FULL_SCALE = 0.999
CLIPPED_FRACTION = 1e-3
"""A clip counts as clipped when this share of its samples lies in runs of three at full scale."""
MOSTLY = 0.5
"""A clip counts as mostly silent when more than this share of its time lies below SILENCE_PEAK."""
NOT_FINITE = "it contains NaN or infinite samples"

_SILENCE_SECONDS = 0.01
"""Silence is measured in windows of this length: shorter ones are zero crossings."""
_LENGTH_UNKNOWN = 0x7FFFF000
"""Programs that write to a pipe promise this many bytes or more, because they cannot know."""

_BLOCK_FRAMES = 1 << 18

Samples = NDArray[np.float32]


@dataclass(frozen=True)
class Audit:
    """What decoding one clip showed.

    ``clipped`` is the share of samples in full-scale runs, ``silent`` the share of time below
    SILENCE_PEAK, ``missing`` the share of the audio that a header promises and the file does not
    hold. ``None`` is not known: entries of older stores lack these.
    """

    seconds: float
    sample_rate: int
    channels: int
    peak: float
    clipped: float
    rms: float | None = None
    silent: float | None = None
    missing: float | None = None

    @staticmethod
    def from_dict(facts: object) -> Audit | None:
        """The audit of what ``dataclasses.asdict`` gave, or ``None`` if that is something else."""
        if not isinstance(facts, dict):
            return None
        if not all(value is None or type(value) in (int, float) for value in facts.values()):
            return None
        try:
            audit = Audit(**facts)
        except TypeError:
            return None
        measured = (audit.seconds, audit.sample_rate, audit.channels, audit.peak, audit.clipped)
        return None if None in measured else audit

    def flags(self, minimum_seconds: float) -> tuple[str, ...]:
        """What is odd about the clip though it can be scored, by name."""
        all_silent = self.peak < SILENCE_PEAK
        checks = {
            "silent": all_silent,
            "mostly-silent": not all_silent and (self.silent or 0.0) > MOSTLY,
            "truncated": (self.missing or 0.0) > 0.0,
            "clipped": self.clipped >= CLIPPED_FRACTION,
            "short": self.seconds < minimum_seconds,
        }
        return tuple(name for name, found in checks.items() if found)


def find_audio(place: Path, *, recursive: bool = True, caches_expected: bool = False) -> list[Path]:
    """Audio files below a folder in a stable order, or the file itself; see ``list_audio``."""
    names = list_audio(place, recursive=recursive, caches_expected=caches_expected)
    return [place / name for name in names]


def list_audio(place: Path, *, recursive: bool = True, caches_expected: bool = False) -> list[str]:
    """The names of the audio files below a folder in a stable order; of a file, ``[""]``.

    Hidden files and the cache folders of kadtk, fadtk and otadtk 0.1.2 are passed over, the latter
    with a word in the log unless they are expected; symbolic links are followed, each folder once.
    Names are text: a million of them take 0.1 GB.
    """
    if is_remote(place):
        found = _remote_names(place, recursive)
    else:
        found = _local_names(place, recursive, caches_expected)
    if found is None:
        raise AudioError(f"There is no file or folder {url_of(place)}.")
    # folder by folder: no character of a name sorts before this separator
    names = sorted(found, key=lambda name: name.replace(os.sep, "\0"))
    if not names:
        hint = "" if recursive else " (subfolders were left out by --no-recursive)"
        known = " ".join(sorted(suffix[1:] for suffix in AUDIO_SUFFIXES))
        raise AudioError(
            f"There are no audio files in {url_of(place)}{hint}; known types: {known}."
        )
    return names


def _local_names(place: Path, recursive: bool, caches_expected: bool) -> Iterable[str] | None:
    if place.is_file():
        return [""]
    return _walk(place, recursive, caches_expected) if place.is_dir() else None


def _remote_names(place: Path, recursive: bool) -> Iterable[str] | None:
    try:
        names = list_files(place, recursive=recursive)
    except OSError as error:
        raise AudioError(f"{url_of(place)} cannot be listed: {error.strerror}") from error
    if names is None or names == [""]:
        return names
    return (name for name in names if _is_audio(name.rpartition("/")[2]) and not _is_aside(name))


def _is_aside(name: str) -> bool:
    """Whether a file lies in a hidden folder or in another tool's cache."""
    return any(part in CACHE_FOLDERS or part.startswith(".") for part in name.split("/")[:-1])


def _is_audio(name: str) -> bool:
    return not name.startswith(".") and Path(name).suffix.lower() in AUDIO_SUFFIXES


def holds_audio(folder: Path) -> bool:
    """Whether there is an audio file below a folder."""
    return next(_walk(folder, recursive=True, caches_expected=True), None) is not None


def _walk(root: Path, recursive: bool, caches_expected: bool) -> Iterator[str]:
    seen: set[tuple[int, int]] = set()
    for folder, subfolders, names in os.walk(root, followlinks=True):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen:  # a loop of symbolic links
            subfolders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        caches = sorted(CACHE_FOLDERS.intersection(subfolders))
        if caches and not caches_expected:
            what = "%s: %s left out as other tools' caches"
            logger.info(what, folder, ", ".join(caches))
        kept = [n for n in subfolders if n not in CACHE_FOLDERS and not n.startswith(".")]
        subfolders[:] = sorted(kept) if recursive else []
        within = Path(folder).relative_to(root)
        before = "" if within == Path() else f"{within}{os.sep}"
        yield from (before + name for name in names if _is_audio(name))


class AudioReader:
    """Streams one file as mono float32 blocks at a given rate; ``audit`` is there at the end.

    A file of any length passes through in bounded memory.
    """

    def __init__(self, path: Path, sample_rate: int) -> None:
        self._path = path
        self._sample_rate = sample_rate
        self._tally: _Tally | None = None
        self._missing = 0.0

    def __iter__(self) -> Iterator[Samples]:
        """Mono blocks; an ``AudioError`` with the reason when the file cannot be scored."""
        import soxr

        resampler = None
        for block, rate in _decode(self._path):
            if self._tally is None:
                self._tally = _Tally(rate, block.shape[1])
                self._missing = _missing_share(self._path)
                if rate != self._sample_rate:
                    resampler = soxr.ResampleStream(rate, self._sample_rate, 1, quality="HQ")
            self._tally.add(block)
            mono = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1)
            yield mono if resampler is None else resampler.resample_chunk(mono)
        if self._tally is None or self._tally.frames == 0:
            raise AudioError("it has no samples")
        if resampler is not None:
            yield resampler.resample_chunk(np.zeros(0, dtype=np.float32), last=True)

    @property
    def audit(self) -> Audit:
        """What was seen of the file, once it has been read to its end."""
        assert self._tally is not None, "the file has not been read"
        return self._tally.audit(self._missing)


class _Tally:
    """Collects the audit block by block."""

    def __init__(self, sample_rate: int, channels: int) -> None:
        self._sample_rate = sample_rate
        self._channels = channels
        self._peak = 0.0
        self._clipped = 0
        self._squares = 0.0
        self._silent = 0
        self.frames = 0

    def add(self, block: Samples) -> None:
        magnitude = np.abs(block)
        peak = float(magnitude.max(initial=0.0))
        if not np.isfinite(peak):  # a NaN or an infinity anywhere makes the maximum so
            raise AudioError(NOT_FINITE)
        if peak >= FULL_SCALE and len(block) >= 3:
            full = magnitude >= FULL_SCALE
            run = full[:-2] & full[1:-1] & full[2:]
            inside = np.zeros_like(full)
            inside[:-2] |= run
            inside[1:-1] |= run
            inside[2:] |= run
            self._clipped += int(inside.sum())
        self._peak = max(self._peak, peak)
        self._squares += float(np.square(block, dtype=np.float64).sum())
        self._silent += _silent_frames(magnitude, round(_SILENCE_SECONDS * self._sample_rate))
        self.frames += len(block)

    def audit(self, missing: float) -> Audit:
        """The facts of all blocks together."""
        samples = max(1, self.frames * self._channels)
        return Audit(
            seconds=self.frames / self._sample_rate,
            sample_rate=self._sample_rate,
            channels=self._channels,
            peak=self._peak,
            clipped=self._clipped / samples,
            rms=(self._squares / samples) ** 0.5,
            silent=self._silent / max(1, self.frames),
            missing=missing,
        )


def _silent_frames(magnitude: Samples, window: int) -> int:
    """How many frames lie in windows that stay below SILENCE_PEAK on every channel."""
    if len(magnitude) == 0:
        return 0
    starts = np.arange(0, len(magnitude), max(1, window))
    peaks = np.maximum.reduceat(magnitude.max(axis=1), starts)
    lengths = np.diff(starts, append=len(magnitude))
    return int(lengths[peaks < SILENCE_PEAK].sum())


def _missing_share(path: Path) -> float:
    """The share of the audio that the header of a wav or aiff file promises and the file lacks.

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
            file.seek(promised + promised % 2, os.SEEK_CUR)  # chunks start at even places
    return 0.0


def _check_sample_width(description: bytes) -> None:
    """Refuse what libsndfile would read as something else: wav samples of a few bits."""
    codec, bits = (int.from_bytes(description[i : i + 2], "little") for i in (0, 14))
    if codec == 1 and bits not in (8, 16, 24, 32):
        raise AudioError(f"its header says {bits} bits a sample")


def _decode(path: Path) -> Iterator[tuple[Samples, int]]:
    """(block of frames × channels, rate) until the end of the file."""
    decode = _decode_pyav if path.suffix.lower() in PYAV_SUFFIXES else _decode_libsndfile
    try:
        yield from decode(path)
    except OSError as error:
        raise AudioError(f"it cannot be read: {error.strerror or error}") from error


def _decode_libsndfile(path: Path) -> Iterator[tuple[Samples, int]]:
    import soundfile

    try:
        with path.open("rb") as handle:
            if os.fstat(handle.fileno()).st_size == 0:
                raise AudioError("the file is empty")
            # by number: libsndfile reads for itself, without callbacks that print what they meet
            with soundfile.SoundFile(handle.fileno(), closefd=False) as file:
                rate = int(file.samplerate)
                while len(block := file.read(_BLOCK_FRAMES, dtype="float32", always_2d=True)):
                    yield block, rate
    except soundfile.LibsndfileError as error:
        raise AudioError(f"it is not readable audio: {error.error_string}") from error


def _decode_pyav(path: Path) -> Iterator[tuple[Samples, int]]:
    try:
        import av
    except ImportError:
        raise AudioError(
            f'{path.suffix} files need PyAV: pip install "otadtk[av]", or convert them to flac'
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
