"""Writes the report of one system against a reference as a page."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from otadtk.files.printable import readable
from otadtk.metrics.diagnostics import OTADDiagnostics
from otadtk.metrics.verdicts import BAD
from otadtk.report.clips.table import OTHERS_SHOWN, SILENT, best_of, project
from otadtk.report.content import ReportContent, ReportOptions, gather_content
from otadtk.report.groups import GroupTable
from otadtk.report.template import Scale, number, numbers, render_template, write_page

SCRIPTS = (
    "base.js",
    "clips.js",
    "player.js",
    "draw.js",
    "table.js",
    "inspector.js",
    "histogram.js",
    "map.js",
    "main.js",
)
"""Joined in this order into one script."""


def write_report(diagnostics: OTADDiagnostics, path: Path, **options: Any) -> Path:
    """Write the report of diagnostics, with the options of ``ReportOptions``; gives its path."""
    return write_content(gather_content(diagnostics, ReportOptions(**options)), path)


def write_content(content: ReportContent, path: Path) -> Path:
    """Write the page of a report; gives its path."""
    return write_page(_render(content, path), path)


def _render(content: ReportContent, path: Path) -> str:
    options, table = content.options, content.table
    title = options.title or f"{table.evaluated.root.name} against {table.reference.root.name}"
    return render_template(
        "report.html",
        SCRIPTS,
        options,
        _data(content, path),
        content=content,
        summary=content.summary,
        title=readable(title),
        sounds={key: found.sound for key, found in content.details.items() if found.sound},
        silent=_silent(content),
        flags=_flag_counts(content),
        gauge=_gauge(content),
        whiskers=[_whiskers(group) for group in content.groups],
    )


def _data(content: ReportContent, path: Path) -> dict[str, Any]:
    """The data block of the page."""
    options, table = content.options, content.table
    return {
        **_clips(content),
        "labels": [readable(label) for label in content.labels],
        "groupings": [
            {"title": readable(g.title), "groups": [readable(name) for name in g.evaluated]}
            for g in content.groupings
        ],
        "detection": asdict(content.detection) if content.detection is not None else None,
        "groups": [asdict(group) for group in content.groups],
        "summary": asdict(content.summary),
        "interval": asdict(options.interval) if options.interval is not None else None,
        "floor": asdict(options.floor) if options.floor is not None else None,
        "limit": asdict(options.limit) if options.limit is not None else None,
        "command": options.command,
        "audio": {
            "mode": options.audio,
            "evaluated": table.evaluated.folder_url(path),
            "reference": table.reference.folder_url(path),
        },
    }


def _clips(content: ReportContent) -> dict[str, Any]:
    """The numbers of every clip, column by column."""
    table, costs = content.table, content.diagnostics.cj
    split = len(table.reference.names)
    coordinates, explained = project(table.reference.points, table.evaluated.points)
    x, y = (numbers(axis, 4) for axis in coordinates)
    partners = [
        [[i, number(share, 3)] for i, share in table.nearest.get(j, [])] for j in range(len(costs))
    ]
    return {
        "evaluated": {
            "names": table.evaluated.names,
            "links": table.evaluated.links,
            "cj": numbers(costs, 7),
            "relative": numbers(table.relative),
            "flags": _marks(content.diagnostics),
            "partners": partners,
            "quality": {
                name: numbers(column, 3) for name, column in content.diagnostics.quality.items()
            },
            "x": x[split:],
            "y": y[split:],
        },
        "reference": {
            "names": table.reference.names,
            "links": table.reference.links,
            "relative": numbers(table.reference_relative),
            "x": x[:split],
            "y": y[:split],
        },
        "explained": numbers(explained, 3),
        "typical": table.typical,
        "details": {key: found.to_dict() for key, found in content.details.items()},
        "worst": table.worst,
        "silent": _silent(content),
        "best": best_of(table.order).tolist(),
        "unreached": table.unreached[:OTHERS_SHOWN].tolist(),
    }


def _marks(diagnostics: OTADDiagnostics) -> list[list[str]]:
    """The verdict on each clip, if it is bad, and what the audit flags: each is a filter."""
    found = diagnostics.judgement.evaluated if diagnostics.judgement is not None else None
    bad = found.bad.tolist() if found is not None else [False] * len(diagnostics.files)
    return [
        [*([BAD] if worse else []), *names]
        for worse, names in zip(bad, diagnostics.flags, strict=True)
    ]


def _silent(content: ReportContent) -> list[int]:
    """The silent clips of largest cost, as many as are shown."""
    flags = content.diagnostics.flags
    return [j for j in content.table.order.tolist() if SILENT in flags[j]][:OTHERS_SHOWN]


def _flag_counts(content: ReportContent) -> list[tuple[str, int]]:
    """What the audit flags in evaluated clips, with the number of clips, rarest first."""
    counts = Counter(flag for flags in content.diagnostics.flags for flag in flags)
    return sorted(counts.items(), key=lambda found: found[1])


def _gauge(content: ReportContent) -> Scale | None:
    """The axis of the drawing of score, interval and floor; ``None`` without the last two."""
    floor, interval = content.options.floor, content.options.interval
    if floor is None and interval is None:
        return None
    values = [0.0, content.summary.score]
    values += [floor.low, floor.high] if floor is not None else []
    values += [interval.low, interval.high] if interval is not None else []
    return Scale.around(values, 100)


def _whiskers(group: GroupTable) -> Scale:
    ends = [v for row in group.rows for v in (row.cost, row.cost_low, row.cost_high)]
    return Scale.around([1.0, *(v for v in ends if v is not None)], 200)
