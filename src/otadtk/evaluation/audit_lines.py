"""The words of an audit: a line for each finding, and one line for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from otadtk.audio.clip_audit import NOT_FINITE

if TYPE_CHECKING:
    from otadtk.evaluation.audit import Contrast, Leak, PairAudit, SetAudit

UNHEARD = 0.01
"""A clip is not heard in full when more than this share of its power is lost in resampling."""
_SHOWN = 5
"""Files that a line names."""


def summary_line(audits: Mapping[str, PairAudit]) -> str:
    """All findings on a reference and on each evaluated set in one line; empty if there are none.

    >>> summary_line({"evaluated": audit})  # doctest: +SKIP
    'reference: 2 clipped; evaluated: 1 silent, 3 in the reference too; unlike the reference in
    duration (5 s): evaluated (4 s)'
    """
    reference = ", ".join(_counts(next(iter(audits.values())).reference))
    parts = [f"reference: {reference}"] if reference else []
    alike: dict[str, list[str]] = {}
    for name, audit in audits.items():
        found = ", ".join([*_counts(audit.evaluated), *_leaks(audit.leakage)])
        if found:
            alike.setdefault(found, []).append(name)
    parts += [f"{', '.join(names)}: {found}" for found, names in alike.items()]
    contrasts: dict[str, list[tuple[str, Contrast]]] = {}
    for name, audit in audits.items():
        for contrast in audit.contrasts:
            contrasts.setdefault(contrast.what, []).append((name, contrast))
    for what, differing in contrasts.items():
        names = ", ".join(f"{name} ({contrast.evaluated})" for name, contrast in differing)
        usual = differing[0][1].reference
        advice = differing[0][1].advice
        parts.append(f"unlike the reference in {what} ({usual}): {names}{advice}")
    return "; ".join(parts)


def _counts(found: SetAudit) -> list[str]:
    """What is odd about a set, with the number of clips."""
    counts = {
        "left out": len(found.unreadable) + len(found.not_finite),
        **{flag.replace("-", " "): len(files) for flag, files in found.flagged.items()},
        "not heard in full": len(found.unheard),
        "exact copies": sum(len(group) - 1 for group in found.duplicates),
    }
    said = [f"{count} {what}" for what, count in counts.items() if count]
    return [text if text != "1 exact copies" else "1 exact copy" for text in said]


def _leaks(leakage: Sequence[Leak]) -> list[str]:
    same = sum(leak.same_bytes for leak in leakage)
    counts = {"in the reference too": same, "nearly identical to one there": len(leakage) - same}
    return [f"{count} {what}" for what, count in counts.items() if count]


def leak_lines(leakage: Sequence[Leak]) -> list[str]:
    """A line on evaluated clips that are in the reference, by bytes and by embedding."""
    lines = []
    same = [str(leak.evaluated) for leak in leakage if leak.same_bytes]
    near = [f"{leak.evaluated} ~ {leak.reference}" for leak in leakage if not leak.same_bytes]
    if same:
        lines.append(f"{_clips(same, 'evaluated')} in the reference too: {_some(same)}")
    if near:
        lines.append(
            f"{_clips(near, 'evaluated')} nearly identical to a reference clip: {_some(near)}"
        )
    return lines


def set_lines(name: str, found: SetAudit) -> list[str]:
    """One line per kind of finding on one set, with the first few files."""
    lines = [f"left out: {clip.path}: {clip.reason}" for clip in found.unreadable]
    lines += [f"left out: {path}: {NOT_FINITE}" for path in found.not_finite]
    for flag, files in found.flagged.items():
        what = flag.replace("-", " ")
        lines.append(f"{_clips(files, name)} {what}: {_some([str(file) for file in files])}")
    if found.unheard:
        lines.append(
            f"{_clips(found.unheard, name)} not heard in full: more than {UNHEARD:.0%} of the power "
            "lies above the encoder's band, which only models with +fullband measure: "
            + _some([str(file) for file in found.unheard])
        )
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
