"""``--report`` and ``--figures``: their options, checks and output."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.cli.shared.output_files import check_output
from otadtk.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otadtk.evaluation.run import ComparisonRun, ScoreRun

logger = logging.getLogger(__name__)


def add_page_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The options of every page; gives their group."""
    group = parser.add_argument_group("report (OTAD)")
    group.add_argument(
        "--report",
        type=Path,
        metavar="HTML",
        help="write a page to hear and see the clips by cost, in one file",
    )
    group.add_argument(
        "--report-audio",
        choices=["embed", "link", "none"],
        help="sounds: inside the page for the worst clips, links for the others (embed, default); "
        "links by relative path (link); none",
    )
    group.add_argument(
        "--groups",
        type=Path,
        metavar="CSV",
        help="groups of clips as file,group, to show cost and score of each (default: subfolders)",
    )
    return group


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """The options of every page, and those of a report of one system."""
    group = add_page_options(parser)
    group.add_argument(
        "--labels",
        type=Path,
        metavar="CSV",
        help="known bad clips as file,kind: adds ROC curve, AUROC and precision",
    )
    group.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="write histogram, map, cost strip, ROC and convergence as SVG and PNG for papers",
    )


def check_page_options(options: argparse.Namespace, *, shown_elsewhere: bool = False) -> None:
    """Refuse options that do nothing, and files that cannot be read or written.

    ``shown_elsewhere`` says that groups and labels count without a page too.
    """
    for name in ("report_audio",) if shown_elsewhere else ("report_audio", "groups"):
        if options.report is None and getattr(options, name, None) is not None:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} belongs to --report; remove it or add --report.")
    for path in (getattr(options, "labels", None), options.groups):
        if path is not None and not path.is_file():
            raise UsageError(f"There is no file {path}.")
    check_output(options.report)


def check_report_options(options: argparse.Namespace) -> None:
    """The same for a report of one system, and check that figures can be drawn."""
    check_page_options(options, shown_elsewhere=True)
    if options.figures is not None:
        from otadtk.report.drawings import require_matplotlib

        require_matplotlib()
        check_output(options.figures / "figure")


def check_tables(
    options: argparse.Namespace, reference: Sequence[Path], evaluated: Sequence[Path]
) -> None:
    """Refuse labels and groups that do not fit these clips, before anything is scored."""
    from otadtk.report.user_csv import read_groups, read_labels

    if options.labels is not None:
        read_labels(options.labels, evaluated)
    if options.groups is not None:
        read_groups(options.groups, evaluated, reference)


def write_reports(run: ScoreRun, document: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Write the page and the figures that were asked for."""
    if options.report is None and options.figures is None:
        return
    from otadtk.documents.methods import bibtex, methods_paragraph
    from otadtk.report.content import ReportOptions, gather_run
    from otadtk.report.page import write_content

    content = gather_run(
        run,
        ReportOptions(
            audio=(options.report_audio or "embed") if options.report is not None else "none",
            labels=options.labels,
            groups=options.groups,
            methods=methods_paragraph(document),
            bibtex=bibtex(document),
        ),
    )
    if options.report is not None:
        write_content(content, options.report)
        logger.info("the report is in %s", options.report)
    if options.figures is not None:
        from otadtk.report.figures import write_figures

        written = write_figures(content, options.figures)
        logger.info("%d figures are in %s", len(written), options.figures)


def write_comparison(
    run: ComparisonRun, document: Mapping[str, Any], options: argparse.Namespace
) -> None:
    """Write the page of several systems, if it was asked for."""
    if options.report is None:
        return
    from otadtk.documents.methods import bibtex, methods_paragraph
    from otadtk.report.comparison_page import write_comparison_report
    from otadtk.report.template import PageOptions

    chosen = PageOptions(
        audio=options.report_audio or "embed",
        groups=options.groups,
        command=run.provenance.command,
        methods=methods_paragraph(document),
        bibtex=bibtex(document),
    )
    write_comparison_report(run.comparisons, options.report, chosen, run.audits)
    logger.info("the report is in %s", options.report)
