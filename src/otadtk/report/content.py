"""Everything that a report shows, as plain data: the page and the figures draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from otadtk.errors import UsageError
from otadtk.evaluation.audit import PairAudit
from otadtk.evaluation.run import ScoreRun
from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics
from otadtk.report.clips.details import ClipDetails, describe_table
from otadtk.report.clips.table import ClipTable, clip_table
from otadtk.report.detection import Detection, detection
from otadtk.report.groups import GroupTable, group_tables
from otadtk.report.summary import Summary, audit_evidence, summarise
from otadtk.report.template import PageOptions
from otadtk.report.user_csv import Grouping, find_groupings, find_labels
from otadtk.statistics.resampling import Floor, Interval, Limit


@dataclass(frozen=True, kw_only=True)
class ReportOptions(PageOptions):
    """What a report shows beside the diagnostics."""

    labels: str | Path | None = None
    """A CSV of known bad clips: file, kind of fault."""
    title: str | None = None
    interval: Interval | None = None
    floor: Floor | None = None
    limit: Limit | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    """Other scores of the same sets by name; FAD and KAD are computed if they are missing."""
    other_findings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What other metrics say beside their scores, one line each, by name and direction."""


@dataclass(frozen=True, eq=False)
class ReportContent:
    """All that the page and the figures show."""

    diagnostics: OTADDiagnostics
    evidence: Evidence
    table: ClipTable
    details: dict[str, ClipDetails]
    """Picture, sound and labels of the clips shown in full, by key."""
    summary: Summary
    labels: tuple[str, ...]
    """Kind of fault of every evaluated clip, "" for none; empty if no labels are given."""
    detection: Detection | None
    groupings: list[Grouping]
    groups: list[GroupTable]
    options: ReportOptions


def gather_run(run: ScoreRun, options: ReportOptions) -> ReportContent:
    """The content of a run's report; what the run has computed is not computed again."""
    found = run.with_costs()
    if found is None:
        raise UsageError("A report needs OTAD among the metrics: only it has costs of clips.")
    evaluation, diagnostics = found
    statistics = evaluation.statistics
    options = replace(
        options,
        command=run.provenance.command,
        floor=statistics.floor,
        interval=statistics.interval if evaluation.outliers is None else None,
        limit=statistics.limit,
        scores=run.other_scores(evaluation),
        other_findings=run.other_findings(evaluation),
    )
    return gather_content(diagnostics, options, run.audit)


def gather_content(
    diagnostics: OTADDiagnostics, options: ReportOptions, audit: PairAudit | None = None
) -> ReportContent:
    """The content of a report. The user's files are read first, so that errors come early.

    Without ``audit`` the two sets are audited here.
    """
    evidence = diagnostics.evidence
    if evidence is None:
        raise UsageError("These diagnostics hold no embeddings, so there is nothing to show.")
    labels = find_labels(options.labels, evidence.evaluated)
    groupings = find_groupings(options.groups, evidence.evaluated, evidence.reference)
    table = clip_table(diagnostics, evidence)
    with ThreadPoolExecutor(1) as background:  # sounds are encoded while groups are scored
        details = background.submit(
            describe_table, table, evidence, sounds=options.audio == "embed"
        )
        groups = group_tables(groupings, table, evidence)
        audit = audit if audit is not None else audit_evidence(evidence)
        summary = summarise(diagnostics, evidence, options.scores, options.floor, audit)
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
