"""The report on the command line: ``--report``, its company, and the figures."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.cli.command import check_output
from otadtk.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otadtk.comparison import Comparison
    from otadtk.scoring import Evaluation

logger = logging.getLogger(__name__)


def add_page_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """``--report`` and what every report may show."""
    group = parser.add_argument_group("report (OTAD)")
    group.add_argument(
        *("--report",),
        type=Path,
        metavar="HTML",
        help="write a page to hear and see the clips by cost; it needs no other file",
    )
    group.add_argument(
        *("--report-audio",),
        choices=["embed", "link", "none"],
        help="sounds inside the page for the worst clips and linked for others (embed, default), "
        "linked by relative path (link), or none",
    )
    group.add_argument(
        *("--groups",),
        type=Path,
        metavar="CSV",
        help="groups of clips as file,group: cost and score of each (default: by subfolder)",
    )
    return group


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """``--report`` and what it shows; ``--figures``."""
    group = add_page_options(parser)
    group.add_argument(
        *("--labels",),
        type=Path,
        metavar="CSV",
        help="known bad clips as file,kind: adds ROC curve, AUROC and precision",
    )
    group.add_argument(
        *("--figures",),
        type=Path,
        metavar="DIR",
        help="write histogram, map, cost strip, ROC and convergence as SVG and PNG for papers",
    )


def check_page_options(options: argparse.Namespace, *, drawn: bool = False) -> None:
    """Refuse what would do nothing or cannot be read or written, before any work is done.

    ``drawn`` says that figures are asked for, which show labels and groups too.
    """
    for name in ("report_audio",) if drawn else ("report_audio", "labels", "groups"):
        if options.report is None and getattr(options, name, None) is not None:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} belongs to --report; remove it or add --report.")
    for path in (getattr(options, "labels", None), options.groups):
        if path is not None and not path.is_file():
            raise UsageError(f"There is no file {path}.")
    check_output(options.report)


def check_report_options(options: argparse.Namespace) -> None:
    """The same, and whether figures can be drawn."""
    check_page_options(options, drawn=options.figures is not None)
    if options.figures is not None:
        from otadtk.report.figures import require_matplotlib

        require_matplotlib()
        check_output(options.figures / "figure")


def write_reports(
    evaluations: Sequence[Evaluation], document: Mapping[str, Any], options: argparse.Namespace
) -> None:
    """The page and the figures that were asked for."""
    if options.report is None and options.figures is None:
        return
    from otadtk.methods import bibtex, methods_paragraph
    from otadtk.report.page import ReportOptions, gather_content, write_page

    diagnostics, statistics = next(
        (evaluation.measurement.diagnostics, evaluation.statistics)
        for evaluation in evaluations
        if evaluation.measurement.diagnostics is not None
    )
    content = gather_content(
        diagnostics,
        ReportOptions(
            audio=options.report_audio or "embed" if options.report is not None else "none",
            labels=options.labels,
            groups=options.groups,
            command=options.command_line,
            floor=statistics.floor,
            interval=statistics.interval,
            limit=statistics.limit,
            methods=methods_paragraph(document),
            bibtex=bibtex(document),
            scores={e.metric.name: e.score for e in evaluations if e.metric.name != "OTAD"},
        ),
    )
    if options.report is not None:
        write_page(content, options.report)
        logger.info("the report is in %s", options.report)
    if options.figures is not None:
        from otadtk.report.figures import write_figures

        written = write_figures(content, options.figures)
        logger.info("%d figures are in %s", len(written), options.figures)


def write_comparison(
    comparisons: Sequence[Comparison], document: Mapping[str, Any], options: argparse.Namespace
) -> None:
    """The page that sets several systems side by side."""
    from otadtk.methods import bibtex, methods_paragraph
    from otadtk.report.comparison import ComparisonOptions, write_comparison_report

    chosen = ComparisonOptions(
        audio=options.report_audio or "embed",
        groups=options.groups,
        command=options.command_line,
        methods=methods_paragraph(document),
        bibtex=bibtex(document),
    )
    write_comparison_report(comparisons, options.report, chosen)
    logger.info("the report is in %s", options.report)
