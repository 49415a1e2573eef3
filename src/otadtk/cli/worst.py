"""The worst clips on the terminal: a table with bars and labels, or plain lines for a pipe."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otadtk.diagnosis import OTADDiagnostics

_BAR = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def print_worst(diagnostics: OTADDiagnostics, count: int) -> None:
    """Print the clips of largest cost, worst first; on a terminal, silent ones before them."""
    if sys.stdout.isatty():
        _print_table(diagnostics, count)
        return
    flags = dict(zip(diagnostics.files, diagnostics.flags, strict=True))
    print(f"\n{'c_j':>12}  worst clips")
    for file, cost in diagnostics.top_k(count):
        note = f"  [{', '.join(flags[file])}]" if flags[file] else ""
        print(f"{cost:12.6g}  {file}{note}")


def _print_table(diagnostics: OTADDiagnostics, count: int) -> None:
    from otadtk.report.content import SILENT, readable, relative_costs, worst_clips
    from otadtk.report.tables import common_root, relative_name

    relative, typical = relative_costs(diagnostics.cj)
    order = worst_clips(diagnostics, count)
    ranks = (-diagnostics.cj).argsort(kind="stable").argsort(kind="stable") + 1
    most = max(relative[order])
    root = common_root(diagnostics.files)
    names = [readable(relative_name(diagnostics.files[j], root)) for j in order]
    about = [
        ", ".join([*(flag.upper() for flag in diagnostics.flags[j]), *labels])
        for j, labels in zip(order, _labels(diagnostics, order), strict=True)
    ]
    room = max(20, shutil.get_terminal_size().columns - _BAR - 20)
    wide = min(max(map(len, names)), room * 6 // 10)
    print(
        f"\n   #  {'cost over ' + typical:<{_BAR + 9}}  {'worst clips in ' + readable(str(root))}"
    )
    for j, name, words in zip(order, names, about, strict=True):
        line = _bar(relative[j] / most if most else 0.0)
        clip = name if len(name) <= wide else "…" + name[1 - wide :]
        print(f"{ranks[j]:4}  {line} {relative[j]:7.2f}×  {clip:<{wide}}  {words[: room - wide]}")
    if any(SILENT in diagnostics.flags[j] for j in order):
        print("      Silent clips come first, whatever they cost; # is the rank by cost.")


def _bar(share: float) -> str:
    """A bar in eighths of a character, padded to its full width."""
    eighths = max(1, round(share * _BAR * 8))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(_BAR)


def _labels(diagnostics: OTADDiagnostics, order: list[int]) -> list[list[str]]:
    """What YAMNet hears in the clips, where its weights and the audio are there."""
    from otadtk.errors import AudioError
    from otadtk.report.frames import ClipFile, Labeller

    evidence = diagnostics.evidence
    if evidence is None:
        return [[] for _ in order]
    labeller = Labeller(evidence.encoder, evidence.store)
    found: list[list[str]] = []
    for j in order:
        clips = evidence.evaluated
        known = labeller.available and clips.audits[j] is not None
        try:
            labels = labeller.labels(ClipFile(clips.files[j], clips.digests[j])) if known else []
        except (AudioError, OSError):
            labels = []
        found.append([name for name, _ in labels])
    return found
