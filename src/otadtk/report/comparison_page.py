"""Writes the page that compares several systems: ranking, groups, clips that differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
from otadtk.evaluation.audit import PairAudit
from otadtk.evaluation.compare import Comparison, System
from otadtk.files.printable import readable
from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics
from otadtk.report.clips.details import ClipDetails, Wanted, describe_clips
from otadtk.report.clips.table import ClipSet
from otadtk.report.groups import mean_interval
from otadtk.report.template import PageOptions, Scale, number, render_template, write_page
from otadtk.report.user_csv import find_groupings

SCRIPTS = ("base.js", "systems.js", "player.js", "draw.js", "compare.js")
CLIPS_SHOWN = 40
"""Clips of largest difference between the systems."""


@dataclass(frozen=True, eq=False)
class _Side:
    """A system with its clips and their costs over the median of all systems' clips."""

    system: System
    diagnostics: OTADDiagnostics
    evidence: Evidence
    clips: ClipSet
    costs: NDArray[np.float64]


@dataclass(frozen=True)
class GroupCell:
    """Mean cost of one system's clips in one group."""

    cost: float
    low: float | None
    high: float | None
    clips: int


@dataclass(frozen=True)
class SystemGroups:
    """The groups of one grouping, worst first; a row has one cell per system."""

    title: str
    rows: tuple[tuple[str, tuple[GroupCell | None, ...]], ...]


def write_comparison_report(
    comparisons: Sequence[Comparison],
    path: Path,
    options: PageOptions,
    audits: Mapping[str, PairAudit] | None = None,
) -> Path:
    """Write the page; its clips are those of the first comparison by OTAD. Gives its path.

    ``audits`` are those of the systems, by name.
    """
    sides = _sides(comparisons)
    different = _different(sides)
    reference = ClipSet.of(sides[0].evidence.reference, sides[0].evidence)
    wanted = [
        Wanted(f"{k}-{row[k]}", side.evidence.evaluated, row[k], _shares(side, row[k]))
        for row in different
        for k, side in enumerate(sides)
    ]
    details = describe_clips(
        wanted, sides[0].evidence, reference.points, sounds=options.audio == "embed"
    )
    short = _short_names([side.system.name for side in sides])
    text = render_template(
        "compare.html",
        SCRIPTS,
        options,
        {**_data(sides, different, details, path, short), "audio": {"mode": options.audio}},
        title=f"{', '.join(list(short.values())[:-1])} and {list(short.values())[-1]}",
        comparisons=comparisons,
        scales=[_scale(comparison) for comparison in comparisons],
        systems=list(short.values()),
        short=short,
        groups=_groups(sides, options.groups),
        different=len(different),
        findings=_findings(audits or {}, short),
        sounds={key: found.sound for key, found in details.items() if found.sound},
    )
    return write_page(text, path)


def _data(
    sides: Sequence[_Side],
    different: Sequence[tuple[int, ...]],
    details: Mapping[str, ClipDetails],
    path: Path,
    short: Mapping[str, str],
) -> dict[str, Any]:
    """What the page's script reads of systems and clips."""
    return {
        "systems": [
            {
                "name": short[side.system.name],
                "folder": side.clips.folder_url(path),
                "names": {str(row[k]): side.clips.names[row[k]] for row in different},
                "links": side.clips.links,
            }
            for k, side in enumerate(sides)
        ],
        "clips": [
            {
                "name": sides[0].clips.names[row[0]],
                "indices": list(row),
                "costs": [number(float(s.costs[row[k]])) for k, s in enumerate(sides)],
                "difference": number(_difference(sides, row)),
            }
            for row in different
        ],
        "details": {key: found.to_dict() for key, found in details.items()},
    }


def _sides(comparisons: Sequence[Comparison]) -> list[_Side]:
    """The systems of the first comparison by OTAD."""
    for comparison in comparisons:
        found = [
            (system, system.diagnostics, system.diagnostics.evidence)
            for system in comparison.systems
            if system.diagnostics is not None and system.diagnostics.evidence is not None
        ]
        if len(found) == len(comparison.systems):
            break
    else:
        raise UsageError("A report needs OTAD among the metrics: only it has costs of clips.")
    costs = [diagnostics.cost for _, diagnostics, _ in found]
    typical = float(np.median(np.concatenate(costs))) or 1.0
    return [
        _Side(system, diagnostics, evidence, ClipSet.of(evidence.evaluated, evidence), c / typical)
        for (system, diagnostics, evidence), c in zip(found, costs, strict=True)
        if evidence is not None
    ]


def _different(sides: Sequence[_Side]) -> list[tuple[int, ...]]:
    """Indices, by system, of the clips that all have under one name; largest difference first."""
    indices = [{name: j for j, name in enumerate(side.clips.names)} for side in sides]
    common = [name for name in sides[0].clips.names if all(name in index for index in indices)]
    rows = [tuple(index[name] for index in indices) for name in common]
    return sorted(rows, key=lambda row: -_difference(sides, row))[:CLIPS_SHOWN]


def _difference(sides: Sequence[_Side], row: tuple[int, ...]) -> float:
    """Between the largest and the smallest cost of a clip."""
    costs = [side.costs[j] for side, j in zip(sides, row, strict=True)]
    return float(max(costs) - min(costs))


def _short_names(systems: Sequence[str]) -> dict[str, str]:
    """The last part of each system's path, or all of it where two have the same."""
    last = [Path(name).name for name in systems]
    unique = len(set(last)) == len(systems) and all(last)
    shown = last if unique else systems
    return {name: readable(each) for name, each in zip(systems, shown, strict=True)}


def _findings(audits: Mapping[str, PairAudit], short: Mapping[str, str]) -> list[tuple[str, str]]:
    """(where, finding) of the audits; what was found in the reference is said once."""
    found: dict[str, list[str]] = {}
    for name, audit in audits.items():
        for line in audit.warnings():
            found.setdefault(line, []).append(short[name])
    shared = {line for line, names in found.items() if len(names) == len(audits)}
    return [
        (
            "every system" if line in shared else ", ".join(names),
            readable(f"{line[:1].upper()}{line[1:]}"),
        )
        for line, names in found.items()
    ]


def _shares(side: _Side, j: int) -> NDArray[np.float64] | None:
    transport = side.diagnostics.transport
    shares = transport.shares if transport is not None else None
    return shares(j) if shares is not None else None


def _groups(sides: Sequence[_Side], table: str | Path | None) -> list[SystemGroups]:
    """Mean cost by group and system, for every grouping that all systems have."""
    groupings = [
        find_groupings(table, side.evidence.evaluated, side.evidence.reference) for side in sides
    ]
    found = []
    for several in zip(*groupings, strict=False):
        names = sorted({name for grouping in several for name in grouping.evaluated})
        rows = []
        for name in names:
            cells: list[GroupCell | None] = []
            for side, grouping in zip(sides, several, strict=True):
                costs = side.costs[np.asarray(grouping.evaluated, dtype=object) == name]
                cells.append(
                    GroupCell(float(costs.mean()), *mean_interval(costs), len(costs))
                    if len(costs)
                    else None
                )
            rows.append((readable(name), tuple(cells)))
        rows.sort(key=lambda row: -max(cell.cost for cell in row[1] if cell is not None))
        found.append(SystemGroups(readable(several[0].title), tuple(rows)))
    return found


def _scale(comparison: Comparison) -> Scale:
    ends: list[Any] = [0.0]
    for system in comparison.systems:
        ends.append(system.score)
        ends += [system.interval.low, system.interval.high] if system.interval.holds else []
        floor = system.statistics.floor
        ends += [floor.mean] if floor is not None else []
    return Scale.around(ends, 260)
