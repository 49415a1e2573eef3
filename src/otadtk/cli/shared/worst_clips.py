"""Prints the worst clips: a table with bars and labels on a terminal, plain lines in a pipe."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from otadtk.files.printable import readable

if TYPE_CHECKING:
    from pathlib import Path

    from otadtk.evaluation.evaluate import Evaluation
    from otadtk.metrics.diagnostics import OTADDiagnostics
    from otadtk.statistics.verdicts import Verdicts

_BAR = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def print_worst(diagnostics: OTADDiagnostics, count: int, *, only_bad: bool = False) -> None:
    """Print the clips of largest cost, worst first; a terminal lists silent clips before them.

    ``only_bad`` leaves out clips that are no worse than chance allows.
    """
    if sys.stdout.isatty():
        _print_table(diagnostics, count, only_bad=only_bad)
        return
    found, order = _verdicts(diagnostics), _order(diagnostics, only_bad)[:count]
    heading = f"{'c_j':>12}  {'cost':>8}  " + (f"{'q':>6}  " if found is not None else "")
    print(f"\n{heading}worst clips")
    for j in order:
        flags = [*_bad(found, j), *diagnostics.flags[j]]
        note = f"  [{', '.join(flags)}]" if flags else ""
        q = f"{found.q[j]:6.3f}  " if found is not None else ""
        costs = f"{diagnostics.cj[j]:12.6g}  {diagnostics.cost[j]:8.4g}"
        print(f"{costs}  {q}{readable(str(diagnostics.files[j]))}{note}")


def _print_table(diagnostics: OTADDiagnostics, count: int, *, only_bad: bool) -> None:
    from otadtk.files.names import common_root, relative_name
    from otadtk.report.clips.table import SILENT, relative_costs, worst_clips

    found = _verdicts(diagnostics)
    relative, typical = relative_costs(diagnostics.cj)
    order = worst_clips(diagnostics, count)
    if only_bad:
        order = _order(diagnostics, only_bad)[:count]
    if not order:
        return
    ranks = (-diagnostics.cj).argsort(kind="stable").argsort(kind="stable") + 1
    most = max(relative[order])
    root = common_root(diagnostics.files)
    names = [readable(relative_name(diagnostics.files[j], root)) for j in order]
    about = [
        ", ".join([*(mark.upper() for mark in [*_bad(found, j), *diagnostics.flags[j]]), *labels])
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


def print_detection(evaluation: Evaluation, labels: Path | None) -> None:
    """Print precision and recall of the verdicts against the clips that are known to be bad."""
    from otadtk.report.user_csv import find_labels

    known = find_labels(labels, evaluation.evaluated)
    diagnostics = evaluation.measurement.diagnostics
    found = _verdicts(diagnostics) if diagnostics is not None else None
    if found is None or not known:
        return
    hits = sum(bool(label) and bool(bad) for label, bad in zip(known, found.bad, strict=True))
    called, bad = int(found.bad.sum()), sum(label != "" for label in known)
    precision = f"{hits / called:.2f} ({hits} of {called})" if called else "– (none called bad)"
    print(f"  labels: precision {precision}, recall {hits / bad:.2f} ({hits} of {bad})", flush=True)


def _order(diagnostics: OTADDiagnostics, only_bad: bool) -> list[int]:
    """Clips by cost, the largest first."""
    order: list[int] = (-diagnostics.cj).argsort(kind="stable").tolist()
    found = _verdicts(diagnostics)
    return [j for j in order if not only_bad or _bad(found, j)]


def _verdicts(diagnostics: OTADDiagnostics) -> Verdicts | None:
    """The verdicts, unless the reference is too small for any."""
    found = diagnostics.judgement.evaluated if diagnostics.judgement is not None else None
    return found if found is not None and found.possible else None


def _bad(found: Verdicts | None, j: int) -> list[str]:
    """The mark of a clip that is worse than chance allows."""
    return ["bad"] if found is not None and found.bad[j] else []


def _bar(filled: float) -> str:
    """A bar, filled from 0 to 1 in eighths of a character, padded to its full width."""
    eighths = max(1, round(filled * _BAR * 8))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(_BAR)


def _labels(diagnostics: OTADDiagnostics, order: list[int]) -> list[list[str]]:
    """YAMNet's labels of the clips; empty without its weights or the audio."""
    from otadtk.errors import AudioError
    from otadtk.report.clips.frames import ClipFile, Labeller

    evidence = diagnostics.evidence
    if evidence is None:
        return [[] for _ in order]
    labeller = Labeller(evidence.encoder, evidence.store)
    found: list[list[str]] = []
    for j in order:
        clips = evidence.evaluated
        known = labeller.available and clips.audits[j] is not None
        try:
            labels = labeller.labels(ClipFile(clips.clip(j), clips.digests[j])) if known else []
        except (AudioError, OSError):
            labels = []
        found.append([name for name, _ in labels])
    return found
