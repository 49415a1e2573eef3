"""Writes the report: one HTML file that needs no network, no server and no other file."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from otadtk import __version__
from otadtk.atomic import replacing
from otadtk.diagnosis import Evidence, OTADDiagnostics
from otadtk.errors import UsageError
from otadtk.report.clips import ClipDetails
from otadtk.report.content import (
    SILENT,
    AudioMode,
    ClipTable,
    clip_block,
    describe,
    gather,
    link_to,
    readable,
)
from otadtk.report.detection import Detection, detection
from otadtk.report.groups import GroupTable, group_tables
from otadtk.report.summary import Scale, Summary, summarise
from otadtk.report.tables import Grouping, groups_by_folder, read_groups, read_labels
from otadtk.resampling import Floor, Interval, Limit

logger = logging.getLogger(__name__)

AUDIO_MODES: tuple[AudioMode, ...] = ("embed", "link", "none")
SCRIPTS = (
    *("base.js", "clips.js", "player.js", "draw.js", "table.js", "inspector.js"),
    *("histogram.js", "map.js", "main.js"),
)
"""In this order they make one script."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows beside the diagnostics.

    ``audio``: inside the page for the clips shown in full and linked by relative path otherwise
    ("embed"), linked ("link"), or none at all ("none").
    """

    audio: AudioMode = "embed"
    labels: str | Path | None = None
    """A CSV of known bad clips: file, kind of fault."""
    groups: str | Path | None = None
    """A CSV of groups: file, then one column per way to group."""
    title: str | None = None
    command: str | None = None
    """The command line that made the numbers."""
    interval: Interval | None = None
    floor: Floor | None = None
    limit: Limit | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    """Other distances of the same sets by name; FAD and KAD are computed where they are missing."""
    methods: str | None = None
    bibtex: str | None = None

    def __post_init__(self) -> None:
        if self.audio not in AUDIO_MODES:
            known = ", ".join(AUDIO_MODES)
            raise UsageError(f"Unknown report audio {self.audio!r}; choose from {known}.")


@dataclass(frozen=True, eq=False)
class ReportContent:
    """All that the page and the figures show."""

    diagnostics: OTADDiagnostics
    evidence: Evidence
    table: ClipTable
    details: dict[str, ClipDetails]
    """What is known of clips beyond numbers, by their key."""
    summary: Summary
    labels: tuple[str, ...]
    """Kind of fault of every evaluated clip, "" for none; empty when nothing is known."""
    detection: Detection | None
    groupings: list[Grouping]
    groups: list[GroupTable]
    options: ReportOptions


def write_report(
    diagnostics: OTADDiagnostics, path: Path, options: ReportOptions | None = None
) -> Path:
    """Write the page whole or not at all; gives its path."""
    return write_page(gather_content(diagnostics, options or ReportOptions()), path)


def gather_content(diagnostics: OTADDiagnostics, options: ReportOptions) -> ReportContent:
    """Everything behind a report; what the user's own files say is read first."""
    evidence = diagnostics.evidence
    if evidence is None:
        raise UsageError("These diagnostics hold no embeddings, so there is nothing to show.")
    sides = evidence.evaluated.files, evidence.reference.files
    labels = read_labels(Path(options.labels), sides[0]) if options.labels is not None else ()
    groupings = (
        read_groups(Path(options.groups), *sides)
        if options.groups is not None
        else groups_by_folder(*sides)
    )
    table = gather(diagnostics, evidence)
    with ThreadPoolExecutor(1) as aside:  # sounds are encoded while groups are scored
        details = aside.submit(describe, table, evidence, sounds=options.audio == "embed")
        groups = group_tables(groupings, table, evidence)
        summary = summarise(diagnostics, evidence, options.scores, options.floor)
    return ReportContent(
        diagnostics=diagnostics,
        evidence=evidence,
        table=table,
        details=details.result(),
        summary=summary,
        labels=labels,
        detection=detection(diagnostics.cj, labels) if labels else None,
        groupings=groupings,
        groups=groups,
        options=options,
    )


def write_page(content: ReportContent, path: Path) -> Path:
    """Write the gathered content as a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _render(content, path)
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    return path


def _render(content: ReportContent, path: Path) -> str:
    options, table = content.options, content.table
    numbers = {
        **clip_block(table, content.details, content.diagnostics.flags, content.diagnostics.cj),
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
            "evaluated": link_to(table.evaluated, path),
            "reference": link_to(table.reference, path),
        },
    }
    sounds = {key: details.sound for key, details in content.details.items() if details.sound}
    title = options.title or f"{table.evaluated.root.name} against {table.reference.root.name}"
    return render_template(
        "report.html",
        SCRIPTS,
        content=content,
        options=options,
        summary=content.summary,
        title=readable(title),
        command=readable(options.command) if options.command else None,
        data=json_block(numbers),
        sounds=sounds,
        silent=_silent_moved(content),
        gauge=_gauge(content),
        whiskers=[_whiskers(group) for group in content.groups],
    )


def _silent_moved(content: ReportContent) -> int:
    """How many silent clips there are, unless the cost alone puts them first."""
    flags, order = content.diagnostics.flags, content.table.order
    count = sum(SILENT in names for names in flags)
    return 0 if all(SILENT in flags[j] for j in order[:count]) else count


def _gauge(content: ReportContent) -> Scale | None:
    """The axis on which score, interval and floor stand side by side."""
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


def render_template(name: str, scripts: Sequence[str], **values: Any) -> str:
    """A page from a template, with style and script inside and a policy that allows only these."""
    import jinja2

    assets = files("otadtk.report") / "assets"
    style = (assets / "style.css").read_text(encoding="utf-8")
    parts = [(assets / part).read_text(encoding="utf-8") for part in scripts]
    # a plain script runs before the sounds below it are parsed; a module would wait for them
    script = "\n".join(['(() => { "use strict";', *parts, "})();"])
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda wanted: (assets / wanted).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = readable
    environment.filters["options"] = _options
    return environment.get_template(name).render(
        **values,
        version=__version__,
        style=_safe(style),
        script=_safe(script),
        policy="; ".join(
            [
                "default-src 'none'",
                f"script-src '{_hash(script)}'",
                f"style-src '{_hash(style)}'",
                "media-src data: file: 'self'",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        ),
    )


def json_block(value: Any) -> Any:
    """JSON for a data block: nothing in it can end the block or open a comment or a tag."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _safe(text)


def _options(text: str) -> Any:
    """Text in which names of command-line options are code, so that no line ends inside one."""
    from markupsafe import escape

    return _safe(re.sub(r"(--[a-z][a-z-]*)", r"<code>\1</code>", str(escape(text))))


def _safe(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
