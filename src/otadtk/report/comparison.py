"""Writes the report of several systems side by side: ranking, groups, clips that differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.atomic import replacing
from otadtk.comparison import Comparison, System
from otadtk.diagnosis import Evidence, OTADDiagnostics
from otadtk.errors import UsageError
from otadtk.report.clips import Wanted, describe_clips
from otadtk.report.content import AudioMode, ClipSet, link_to, number, readable
from otadtk.report.groups import mean_interval
from otadtk.report.page import json_block, render_template
from otadtk.report.summary import Scale
from otadtk.report.tables import groups_by_folder, read_groups

SCRIPTS = ("base.js", "systems.js", "player.js", "draw.js", "compare.js")
CLIPS_SHOWN = 40
"""Clips on which the systems differ most."""


@dataclass(frozen=True)
class ComparisonOptions:
    """What the page shows beside the comparisons; as for a report of one system."""

    audio: AudioMode = "embed"
    groups: str | Path | None = None
    command: str | None = None
    methods: str | None = None
    bibtex: str | None = None


@dataclass(frozen=True, eq=False)
class _Side:
    """A system with its clips: names, and costs in the same unit for all systems."""

    system: System
    diagnostics: OTADDiagnostics
    evidence: Evidence
    clips: ClipSet
    costs: NDArray[np.float64]


@dataclass(frozen=True)
class GroupCell:
    """Mean cost of one system's clips of one group."""

    cost: float
    low: float | None
    high: float | None
    clips: int


@dataclass(frozen=True)
class SystemGroups:
    """One way to divide the clips; a row of cells for each group, worst first."""

    title: str
    rows: tuple[tuple[str, tuple[GroupCell | None, ...]], ...]


def write_comparison_report(
    comparisons: Sequence[Comparison], path: Path, options: ComparisonOptions | None = None
) -> Path:
    """Write the page; the clips are those of the first comparison by OTAD."""
    options = options or ComparisonOptions()
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
    data = {
        "systems": [
            {
                "name": readable(side.system.name),
                "folder": link_to(side.clips, path),
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
        "audio": {"mode": options.audio},
    }
    systems = [Path(side.system.name).name for side in sides]
    text = render_template(
        "compare.html",
        SCRIPTS,
        title=readable(f"{', '.join(systems[:-1])} and {systems[-1]}"),
        comparisons=comparisons,
        scales=[_scale(comparison) for comparison in comparisons],
        systems=[readable(side.system.name) for side in sides],
        groups=_groups(sides, options.groups),
        different=len(different),
        options=options,
        command=readable(options.command) if options.command else None,
        data=json_block(data),
        sounds={key: found.sound for key, found in details.items() if found.sound},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    return path


def _sides(comparisons: Sequence[Comparison]) -> list[_Side]:
    """The systems of the first comparison by OTAD, costs relative to the median of all clips."""
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
    costs = [len(diagnostics.cj) * diagnostics.cj for _, diagnostics, _ in found]
    typical = float(np.median(np.concatenate(costs))) or 1.0
    return [
        _Side(system, diagnostics, evidence, ClipSet.of(evidence.evaluated, evidence), c / typical)
        for (system, diagnostics, evidence), c in zip(found, costs, strict=True)
        if evidence is not None
    ]


def _different(sides: Sequence[_Side]) -> list[tuple[int, ...]]:
    """Places of the clips that all systems have by name, the largest difference of cost first."""
    places = [{name: j for j, name in enumerate(side.clips.names)} for side in sides]
    common = [name for name in sides[0].clips.names if all(name in place for place in places)]
    rows = [tuple(place[name] for place in places) for name in common]

    def spread(row: tuple[int, ...]) -> float:
        costs = [side.costs[j] for side, j in zip(sides, row, strict=True)]
        return float(max(costs) - min(costs))

    return sorted(rows, key=lambda row: -spread(row))[:CLIPS_SHOWN]


def _shares(side: _Side, j: int) -> NDArray[np.float64] | None:
    transport = side.diagnostics.transport
    shares = transport.shares if transport is not None else None
    return shares(j) if shares is not None else None


def _groups(sides: Sequence[_Side], table: str | Path | None) -> list[SystemGroups]:
    """Mean cost by group and system, for every way to group that all systems share."""
    groupings = []
    for side in sides:
        files = side.evidence.evaluated.files, side.evidence.reference.files
        groupings.append(
            read_groups(Path(table), *files) if table is not None else groups_by_folder(*files)
        )
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
