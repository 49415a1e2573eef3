"""The audit of one clip: duration, level, clipping and silence, measured while it is decoded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.reading import SILENCE_PEAK
from otadtk.errors import AudioError

FULL_SCALE = 0.999
CLIPPED_FRACTION = 1e-3
"""A clip counts as clipped when this fraction of its samples is in runs of three at full scale."""
MOSTLY = 0.5
"""A clip counts as mostly silent when more than this fraction of its time is below SILENCE_PEAK."""
NOT_FINITE = "it contains NaN or infinite samples"

_LARGEST_FACT = 1e15
"""No duration, rate or level is beyond this: a larger one in a file is not a measurement."""
SILENCE_SECONDS = 0.01
"""Silence is measured in windows of this length: shorter ones are zero crossings."""
_WIDE_SAMPLES = 1 << 14
"""Samples that are widened at a time: copies of 128 kB stay in cache."""

Samples = NDArray[np.float32]


@dataclass(frozen=True)
class ClipAudit:
    """Facts of one clip, found while it was decoded.

    ``clipped`` is the fraction of samples in full-scale runs, ``silent`` the fraction of time below
    SILENCE_PEAK, ``missing`` the fraction of the audio that a header promises and the file does not
    hold. ``None`` means not known: entries of older stores lack these.
    """

    seconds: float
    sample_rate: int
    channels: int
    peak: float
    clipped: float
    rms: float | None = None
    silent: float | None = None
    missing: float | None = None
    unheard: float | None = None
    """The share of the power that the encoder's rate cannot hold."""

    @staticmethod
    def from_dict(facts: object) -> ClipAudit | None:
        """The audit of what ``dataclasses.asdict`` gave, or ``None`` if that is something else."""
        if not isinstance(facts, dict):
            return None
        if not all(value is None or type(value) in (int, float) for value in facts.values()):
            return None
        try:
            audit = ClipAudit(**facts)
        except TypeError:
            return None
        values = [value for value in facts.values() if value is not None]
        if not all(0 <= value <= _LARGEST_FACT for value in values):  # nor NaN
            return None
        measured = (audit.seconds, audit.sample_rate, audit.channels, audit.peak, audit.clipped)
        if None in measured:
            return None
        return audit if min(audit.seconds, audit.sample_rate, audit.channels) > 0 else None

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


class AuditTally:
    """Collects the audit block by block."""

    def __init__(self, sample_rate: int, channels: int) -> None:
        self._sample_rate = sample_rate
        self._channels = channels
        self._peak = 0.0
        self._clipped = 0
        self.squares = 0.0
        self._silent = 0
        self.frames = 0

    def add(self, block: Samples) -> None:
        """Count one block of frames × channels."""
        peaks, lengths = _windows(block, round(SILENCE_SECONDS * self._sample_rate))
        peak = float(peaks.max(initial=0.0))
        if not np.isfinite(peak):  # a NaN or an infinity anywhere makes the maximum so
            raise AudioError(NOT_FINITE)
        if peak >= FULL_SCALE and len(block) >= 3:
            full = np.abs(block) >= FULL_SCALE
            run = full[:-2] & full[1:-1] & full[2:]
            inside = np.zeros_like(full)
            inside[:-2] |= run
            inside[1:-1] |= run
            inside[2:] |= run
            self._clipped += int(inside.sum())
        self._peak = max(self._peak, peak)
        self.squares += sum_of_squares(block)
        self._silent += int(lengths[peaks < SILENCE_PEAK].sum())
        self.frames += len(block)

    def audit(self, missing: float, *, unheard: float = 0.0) -> ClipAudit:
        """The facts of all blocks together."""
        samples = max(1, self.frames * self._channels)
        return ClipAudit(
            seconds=self.frames / self._sample_rate,
            sample_rate=self._sample_rate,
            channels=self._channels,
            peak=self._peak,
            clipped=self._clipped / samples,
            rms=(self.squares / samples) ** 0.5,
            silent=self._silent / max(1, self.frames),
            missing=missing,
            unheard=unheard,
        )


def _windows(block: Samples, window: int) -> tuple[Samples, NDArray[np.int64]]:
    """(the largest magnitude on any channel, the number of frames) of every window of a block."""
    if len(block) == 0:
        return np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
    starts = np.arange(0, len(block), max(1, window))
    peaks = np.zeros(len(starts), dtype=np.float32)
    for channel in block.T:
        np.maximum(peaks, np.maximum.reduceat(channel, starts), out=peaks)
        np.maximum(peaks, -np.minimum.reduceat(channel, starts), out=peaks)
    lengths = np.full(len(starts), max(1, window))
    lengths[-1] = len(block) - starts[-1]
    return peaks, lengths


def sum_of_squares(samples: Samples) -> float:
    """In float64, piece by piece: a wide copy of a whole clip takes longer than the sum.

    Not by BLAS, whose threads would change the last digit.
    """
    flat, total = samples.reshape(-1), 0.0
    for start in range(0, len(flat), _WIDE_SAMPLES):
        wide = flat[start : start + _WIDE_SAMPLES].astype(np.float64)
        total += float(np.einsum("i,i->", wide, wide))
    return total
