"""Audits two embedded sets before scoring: odd clips, duplicates, leakage, different sets."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.clip_audit import NOT_FINITE, ClipAudit
from otadtk.audio.reading import SILENCE_PEAK
from otadtk.distances.neighbours import nearest_within, usual_nearest_distance
from otadtk.embed import BadClip, EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.audit_lines import UNHEARD, leak_lines, set_lines
from otadtk.statistics.quantiles import quantiles

NEAR = 0.15
"""Clips of two sets are nearly identical if their distance is below this fraction of the usual
distance between neighbours in the reference. With YAMNet, 0.15 marks none of ESC-50's clips and
finds copies that were resampled or stored in another format."""
_FEW = 20
"""A smaller reference has distant neighbours, so a fifth of that fraction is used."""
_DIFFERENT = 0.5
"""Two distributions differ if their Kolmogorov-Smirnov distance is at least this …"""
_SIGNIFICANT = 1.95
"""… and at least 1.95·√(1/n + 1/m), which one in a thousand pairs of equal distributions exceeds."""


@dataclass(frozen=True)
class Quantiles:
    """The 5 %, 50 % and 95 % quantiles of a property over the clips of a set."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class SetAudit:
    """The findings on one set: clips by flag, groups of equal files, quantiles over the clips."""

    clips: int
    unreadable: tuple[BadClip, ...]
    not_finite: tuple[Path, ...]
    flagged: dict[str, tuple[Path, ...]]
    duplicates: tuple[tuple[Path, ...], ...]
    sample_rates: dict[int, int]
    seconds: Quantiles | None
    loudness: Quantiles | None
    """RMS in dB relative to full scale, without silent clips."""
    unheard: tuple[Path, ...]
    """Clips with much of their power above what the encoder hears."""
    unknown: int
    """Clips with unknown properties: given as embeddings, or cached by an older version."""


@dataclass(frozen=True)
class Leak:
    """An evaluated clip that is also in the reference, by its bytes or by its embedding."""

    evaluated: Path
    reference: Path
    same_bytes: bool
    distance: float


@dataclass(frozen=True)
class Contrast:
    """A property in which the two sets differ much, with the median of each set."""

    what: str
    reference: str
    evaluated: str

    def __str__(self) -> str:
        return (
            f"the sets differ in {self.what}: {self.reference} in the reference, {self.evaluated} in "
            f"the evaluated set{self.advice}"
        )

    @property
    def advice(self) -> str:
        """The option that makes the sets alike, if there is one."""
        option = {"loudness": "--normalise -23", "duration": "--duration S"}.get(self.what)
        return f" ({option} makes them alike)" if option is not None else ""


@dataclass(frozen=True)
class PairAudit:
    """The audit of a reference and an evaluated set."""

    reference: SetAudit
    evaluated: SetAudit
    leakage: tuple[Leak, ...]
    contrasts: tuple[Contrast, ...]

    def warnings(self) -> list[str]:
        """One line per kind of finding, with the first few files."""
        return [
            *set_lines("reference", self.reference),
            *set_lines("evaluated", self.evaluated),
            *leak_lines(self.leakage),
            *map(str, self.contrasts),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with paths as text."""
        record = dataclasses.asdict(self)
        record["contrasts"] = list(map(str, self.contrasts))
        plain: dict[str, Any] = _plain(record)
        return plain


def audit_sets(
    reference: EmbeddingSet, evaluated: EmbeddingSet, *, minimum_seconds: float = 0.0
) -> PairAudit:
    """The audit of two sets.

    The encoder pads clips shorter than ``minimum_seconds``.
    """
    widths = reference.vectors.shape[1], evaluated.vectors.shape[1]
    if widths[0] != widths[1]:
        raise UsageError(
            f"The reference set has {widths[0]} dimensions and the evaluated one {widths[1]}: "
            f"they come from different encoders."
        )
    return PairAudit(
        reference=_audit_set(reference, minimum_seconds),
        evaluated=_audit_set(evaluated, minimum_seconds),
        leakage=tuple(_leakage(reference, evaluated)),
        contrasts=tuple(_contrasts(reference.audits, evaluated.audits)),
    )


def _audit_set(clips: EmbeddingSet, minimum_seconds: float) -> SetAudit:
    flagged: dict[str, list[Path]] = {}
    for file, flags in zip(clips.files, clips.flags(minimum_seconds), strict=True):
        for flag in flags:
            flagged.setdefault(flag, []).append(file)
    copies: dict[str, list[Path]] = {}
    for file, digest in zip(clips.files, clips.digests, strict=True):
        copies.setdefault(digest, []).append(file)
    known = [audit for audit in clips.audits if audit is not None]
    return SetAudit(
        clips=len(clips.files),
        unreadable=tuple(clip for clip in clips.bad if clip.reason != NOT_FINITE),
        not_finite=tuple(clip.path for clip in clips.bad if clip.reason == NOT_FINITE),
        flagged={flag: tuple(files) for flag, files in flagged.items()},
        duplicates=tuple(tuple(group) for group in copies.values() if len(group) > 1),
        sample_rates=dict(sorted(Counter(audit.sample_rate for audit in known).items())),
        seconds=_quantiles(_values(clips.audits, _seconds)),
        loudness=_quantiles(_values(clips.audits, _loudness)),
        unheard=tuple(
            file
            for file, audit in zip(clips.files, clips.audits, strict=True)
            if audit is not None and (audit.unheard or 0.0) > UNHEARD
        ),
        unknown=sum(audit is None or audit.rms is None for audit in clips.audits),
    )


def _leakage(reference: EmbeddingSet, evaluated: EmbeddingSet) -> list[Leak]:
    """Evaluated clips with a copy in the reference, each with the nearest copy.

    Silent clips are left out: they are all alike without being copies, and flagged as silent.
    """
    index_of = {digest: i for i, digest in reversed(list(enumerate(reference.digests)))}
    leaks = {
        j: Leak(evaluated.files[j], reference.files[index_of[digest]], True, 0.0)
        for j, digest in enumerate(evaluated.digests)
        if digest in index_of
    }
    rows = [i for i in sorted(index_of.values()) if not _is_silent(reference.audits[i])]
    columns = [
        j for j, audit in enumerate(evaluated.audits) if j not in leaks and not _is_silent(audit)
    ]
    for k, nearest, distance in near_copies(reference.vectors[rows], evaluated.vectors[columns]):
        i, j = rows[nearest], columns[k]
        leaks[j] = Leak(evaluated.files[j], reference.files[i], False, distance)
    return [leaks[j] for j in sorted(leaks)]


def near_copies(x: NDArray[np.float32], y: NDArray[np.float32]) -> Iterable[tuple[int, int, float]]:
    """Rows of y that are nearly identical to a row of x: the row, the nearest one, their distance."""
    near = (NEAR if len(x) >= _FEW else NEAR / 5) * usual_nearest_distance(x)
    return nearest_within(x, y, near)


def _is_silent(audit: ClipAudit | None) -> bool:
    return audit is not None and audit.peak < SILENCE_PEAK


def _contrasts(
    reference: Sequence[ClipAudit | None], evaluated: Sequence[ClipAudit | None]
) -> list[Contrast]:
    """Loudness, duration and sample rate, if the two sets differ much in them."""
    found = []
    x, y = _values(reference, _loudness), _values(evaluated, _loudness)
    if _differ(x, y) and abs(np.median(x) - np.median(y)) >= 3.0:
        found.append(
            Contrast("loudness", f"median {np.median(x):.1f} dB", f"{np.median(y):.1f} dB RMS")
        )
    x, y = _values(reference, _seconds), _values(evaluated, _seconds)
    if _differ(x, y) and abs(math.log(np.median(x) / np.median(y))) >= math.log(1.25):
        found.append(Contrast("duration", f"median {np.median(x):.3g} s", f"{np.median(y):.3g} s"))
    x, y = (_values(side, lambda audit: audit.sample_rate) for side in (reference, evaluated))
    if _differ(x, y):
        found.append(Contrast("sample rate", f"mostly {_usual(x)} Hz", f"{_usual(y)} Hz"))
    return found


def _differ(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Whether the distributions of two samples differ much, and not by chance."""
    if len(x) == 0 or len(y) == 0:
        return False
    both = np.concatenate([x, y])
    cumulative = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (x, y)]
    largest = float(np.abs(cumulative[0] - cumulative[1]).max())
    return largest >= max(_DIFFERENT, _SIGNIFICANT * math.sqrt(1 / len(x) + 1 / len(y)))


def _values(
    audits: Sequence[ClipAudit | None], of: Callable[[ClipAudit], float | None]
) -> NDArray[np.float64]:
    """The known values of a property of the clips."""
    values = [of(audit) for audit in audits if audit is not None]
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _seconds(audit: ClipAudit) -> float:
    return audit.seconds


def _loudness(audit: ClipAudit) -> float | None:
    if not audit.rms or audit.peak < SILENCE_PEAK:
        return None
    return 20.0 * math.log10(audit.rms)


def _quantiles(values: NDArray[np.float64]) -> Quantiles | None:
    return Quantiles(*quantiles(values, (0.05, 0.5, 0.95))) if len(values) else None


def _usual(values: NDArray[np.float64]) -> int:
    return int(Counter(values.tolist()).most_common(1)[0][0])


def _plain(value: Any) -> Any:
    """The value with text for paths and lists for tuples, as in JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
