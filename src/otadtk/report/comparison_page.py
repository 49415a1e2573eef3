"""Writes the page that compares several systems: ranking, groups, clips that differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
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
    comparisons: Sequence[Comparison], path: Path, options: PageOptions
) -> Path:
    """Write the page; its clips are those of the first comparison by OTAD. Gives its path."""
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
    systems = [Path(side.system.name).name for side in sides]
    text = render_template(
        "compare.html",
        SCRIPTS,
        options,
        {**_data(sides, different, details, path), "audio": {"mode": options.audio}},
        title=readable(f"{', '.join(systems[:-1])} and {systems[-1]}"),
        comparisons=comparisons,
        scales=[_scale(comparison) for comparison in comparisons],
        systems=[readable(side.system.name) for side in sides],
        groups=_groups(sides, options.groups),
        different=len(different),
        sounds={key: found.sound for key, found in details.items() if found.sound},
    )
    return write_page(text, path)


def _data(
    sides: Sequence[_Side],
    different: Sequence[tuple[int, ...]],
    details: Mapping[str, ClipDetails],
    path: Path,
) -> dict[str, Any]:
    """What the page's script reads of systems and clips."""
    return {
        "systems": [
            {
                "name": readable(side.system.name),
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

    def difference(row: tuple[int, ...]) -> float:
        costs = [side.costs[j] for side, j in zip(sides, row, strict=True)]
        return float(max(costs) - min(costs))

    return sorted(rows, key=lambda row: -difference(row))[:CLIPS_SHOWN]


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
        ends += [system.score, system.interval.low, system.interval.high]
    return Scale.around(ends, 300)
