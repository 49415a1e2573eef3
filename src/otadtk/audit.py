"""Audits two embedded sets before they are scored: odd clips, duplicates, leakage, unlike sets."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.audio import NOT_FINITE, SILENCE_PEAK, Audit
from otadtk.embed import BadClip, EmbeddingSet
from otadtk.errors import UsageError
from otadtk.neighbours import nearest_within, usual_nearest_distance

NEAR = 0.15
"""Clips of two sets count as nearly identical when they are closer than this share of the usual
distance between neighbours in the reference: 0.15 marks none of ESC-50's clips with YAMNet, and
finds copies that were resampled, or stored in another format."""
_FEW = 20
"""In a small reference neighbours are far apart, and only what is nearer still is a copy."""
_UNLIKE = 0.5
"""Distributions are very different when their Kolmogorov-Smirnov distance is this or more …"""
_SIGNIFICANT = 1.95
"""… and beyond chance: 1.95·√(1/n + 1/m) is exceeded in one of a thousand pairs of like samples."""
_SHOWN = 5


@dataclass(frozen=True)
class Spread:
    """The 5 %, 50 % and 95 % quantiles of a fact over the clips of a set."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class SetAudit:
    """What is odd about one set: clips by flag, groups of equal files, spreads over the clips."""

    clips: int
    unreadable: tuple[BadClip, ...]
    not_finite: tuple[Path, ...]
    flagged: dict[str, tuple[Path, ...]]
    duplicates: tuple[tuple[Path, ...], ...]
    sample_rates: dict[int, int]
    seconds: Spread | None
    loudness: Spread | None
    """RMS in dB relative to full scale, of the clips that are not silent."""
    unknown: int
    """Clips of which not everything is known: given as embeddings, or stored by an older version."""


@dataclass(frozen=True)
class Leak:
    """An evaluated clip that is in the reference too: its bytes, or nearly its embedding."""

    evaluated: Path
    reference: Path
    same_bytes: bool
    distance: float


@dataclass(frozen=True)
class PairAudit:
    """The audit of a reference and an evaluated set; ``contrasts`` says how the sets are unlike."""

    reference: SetAudit
    evaluated: SetAudit
    leakage: tuple[Leak, ...]
    contrasts: tuple[str, ...]

    def warnings(self) -> list[str]:
        """One line for each kind of finding, with the first few files."""
        return [*self.reference_warnings(), *self.evaluated_warnings()]

    def reference_warnings(self) -> list[str]:
        """The lines that concern the reference alone."""
        return _set_lines("reference", self.reference)

    def evaluated_warnings(self) -> list[str]:
        """The lines that concern the evaluated set."""
        lines = _set_lines("evaluated", self.evaluated)
        same = [str(leak.evaluated) for leak in self.leakage if leak.same_bytes]
        near = [f"{k.evaluated} ~ {k.reference}" for k in self.leakage if not k.same_bytes]
        if same:
            lines.append(f"{_clips(same, 'evaluated')} in the reference too: {_some(same)}")
        if near:
            lines.append(
                f"{_clips(near, 'evaluated')} nearly identical to a reference clip: {_some(near)}"
            )
        return lines + list(self.contrasts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; paths as text."""
        plain: dict[str, Any] = _plain(dataclasses.asdict(self))
        return plain


def audit_sets(
    reference: EmbeddingSet, evaluated: EmbeddingSet, *, minimum_seconds: float = 0.0
) -> PairAudit:
    """What one should know of two sets before believing their distance.

    ``minimum_seconds`` is the length below which the encoder has to pad a clip.
    """
    widths = reference.vectors.shape[1], evaluated.vectors.shape[1]
    if widths[0] != widths[1]:
        raise UsageError(
            f"The reference set has {widths[0]} dimensions and the evaluated one {widths[1]}: "
            f"they are of different encoders."
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
        seconds=_spread(_facts(clips.audits, _seconds)),
        loudness=_spread(_facts(clips.audits, _loudness)),
        unknown=sum(audit is None or audit.rms is None for audit in clips.audits),
    )


def _leakage(reference: EmbeddingSet, evaluated: EmbeddingSet) -> list[Leak]:
    """Evaluated clips with a twin in the reference, each with the nearest one.

    Silent clips are alike without being copies: they are flagged as silent instead.
    """
    places = {digest: i for i, digest in reversed(list(enumerate(reference.digests)))}
    leaks = {
        j: Leak(evaluated.files[j], reference.files[places[digest]], True, 0.0)
        for j, digest in enumerate(evaluated.digests)
        if digest in places
    }
    there = [i for i in sorted(places.values()) if not _is_silent(reference.audits[i])]
    here = [
        j for j, audit in enumerate(evaluated.audits) if j not in leaks and not _is_silent(audit)
    ]
    x, y = reference.vectors[there], evaluated.vectors[here]
    near = (NEAR if len(x) >= _FEW else NEAR / 5) * usual_nearest_distance(x)
    for k, nearest, distance in nearest_within(x, y, near):
        i, j = there[nearest], here[k]
        leaks[j] = Leak(evaluated.files[j], reference.files[i], False, distance)
    return [leaks[j] for j in sorted(leaks)]


def _is_silent(audit: Audit | None) -> bool:
    return audit is not None and audit.peak < SILENCE_PEAK


def _contrasts(reference: Sequence[Audit | None], evaluated: Sequence[Audit | None]) -> list[str]:
    """Sentences on loudness, duration and sample rate where the two sets are very different."""
    found = []
    x, y = _facts(reference, _loudness), _facts(evaluated, _loudness)
    if _unlike(x, y) and abs(np.median(x) - np.median(y)) >= 3.0:
        found.append(
            f"the sets differ in loudness: median {np.median(x):.1f} dB in the reference, "
            f"{np.median(y):.1f} dB in the evaluated set (RMS, full scale 0 dB)"
        )
    x, y = _facts(reference, _seconds), _facts(evaluated, _seconds)
    if _unlike(x, y) and abs(math.log(np.median(x) / np.median(y))) >= math.log(1.25):
        found.append(
            f"the sets differ in duration: median {np.median(x):.3g} s in the reference, "
            f"{np.median(y):.3g} s in the evaluated set"
        )
    x, y = (_facts(side, lambda audit: audit.sample_rate) for side in (reference, evaluated))
    if _unlike(x, y):
        found.append(
            f"the sets differ in sample rate: mostly {_usual(x)} Hz in the reference, "
            f"{_usual(y)} Hz in the evaluated set"
        )
    return found


def _unlike(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    if len(x) == 0 or len(y) == 0:
        return False
    both = np.concatenate([x, y])
    shares = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (x, y)]
    largest = float(np.abs(shares[0] - shares[1]).max())
    return largest >= max(_UNLIKE, _SIGNIFICANT * math.sqrt(1 / len(x) + 1 / len(y)))


def _facts(
    audits: Sequence[Audit | None], fact: Callable[[Audit], float | None]
) -> NDArray[np.float64]:
    """The known values of a fact."""
    values = [fact(audit) for audit in audits if audit is not None]
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _seconds(audit: Audit) -> float:
    return audit.seconds


def _loudness(audit: Audit) -> float | None:
    if audit.rms is None or audit.peak < SILENCE_PEAK:
        return None
    return 20.0 * math.log10(audit.rms)


def _spread(values: NDArray[np.float64]) -> Spread | None:
    return Spread(*np.quantile(values, [0.05, 0.5, 0.95]).tolist()) if len(values) else None


def _usual(values: NDArray[np.float64]) -> int:
    return int(Counter(values.tolist()).most_common(1)[0][0])


def _set_lines(name: str, found: SetAudit) -> list[str]:
    lines = [f"left out: {clip.path}: {clip.reason}" for clip in found.unreadable]
    lines += [f"left out: {path}: {NOT_FINITE}" for path in found.not_finite]
    for flag, files in found.flagged.items():
        what = flag.replace("-", " ")
        lines.append(f"{_clips(files, name)} {what}: {_some([str(file) for file in files])}")
    if found.duplicates:
        extra = sum(len(group) - 1 for group in found.duplicates)
        groups = [" = ".join(str(file) for file in group[:_SHOWN]) for group in found.duplicates]
        copies = "copy of another clip" if extra == 1 else "copies of other clips"
        lines.append(f"the {name} set has {extra} exact {copies}: {_some(groups)}")
    return lines


def _clips(files: Sequence[object], name: str) -> str:
    return f"{len(files)} {name} clip{' is' if len(files) == 1 else 's are'}"


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _plain(value: Any) -> Any:
    """The same with text for paths and lists for tuples, as JSON has them."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
