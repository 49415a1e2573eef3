"""``otadtk MODEL REF EVAL``: the distance of two folders of audio, and the clips that cause it."""

from __future__ import annotations

import argparse
import csv
import io
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.auditing import add_audit_option, audit_only, describe
from otadtk.cli.command import (
    EXIT_CODES,
    add_common_options,
    add_source_options,
    check_outputs,
    execute,
    positive_int,
    seed_number,
)
from otadtk.cli.engines import add_engine_options, chosen_engine
from otadtk.cli.json_output import add_json_option, emit_json, json_file
from otadtk.cli.options import (
    add_metric_options,
    check_metric_options,
    check_source_options,
    make_metrics,
)
from otadtk.cli.reporting import add_report_options, check_report_options, write_reports
from otadtk.cli.worst import print_worst
from otadtk.errors import NotConvergedError, UsageError

if TYPE_CHECKING:
    from otadtk.diagnosis import OTADDiagnostics
    from otadtk.engine import Engine
    from otadtk.scoring import Evaluation

logger = logging.getLogger(__name__)

DEFAULT_TOP_K = 10
DEFAULT_NULL = 200
_COLUMNS = ("metric", "model", "variant", "ref", "eval", "score", "time")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk",
        usage="%(prog)s MODEL REF EVAL [options]",
        description="How far is a folder of evaluated clips from a folder of reference clips, "
        "and which clips are bad? The score goes to stdout, notes and progress to stderr.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("model", help="an encoder of otadtk-list-models, or path/to/file.py:Class")
    parser.add_argument(
        *("ref",),
        type=Path,
        help="reference clips: a folder or file of audio, or embeddings (.npy, .npz, .parquet, "
        ".otadpack, a folder of .npy)",
    )
    parser.add_argument("eval", type=Path, help="evaluated clips, likewise")
    add_metric_options(parser)
    statistics = parser.add_argument_group("statistics (every metric)")
    statistics.add_argument(
        *("--null",),
        nargs="?",
        const=DEFAULT_NULL,
        type=positive_int,
        metavar="R",
        help="the floor, what two samples of one distribution score at this N and M, and a "
        f"p-value, by R permutations (default: {DEFAULT_NULL})",
    )
    statistics.add_argument(
        "--ci", action="store_true", help="95 %% interval of the expected score at this N and M"
    )
    statistics.add_argument(
        *("--extrapolate", "--inf"),
        action="store_true",
        help="the score for infinitely many clips, by a fit in 1/N",
    )
    statistics.add_argument(
        "--seed", type=seed_number, help="of everything that is drawn (default: 0)"
    )

    clips = parser.add_argument_group("single clips (OTAD)")
    clips.add_argument(
        "--diagnose", action="store_true", help="print the clips of largest transport cost"
    )
    clips.add_argument(
        *("--top-k",),
        type=positive_int,
        metavar="K",
        help=f"how many clips --diagnose prints (default: {DEFAULT_TOP_K})",
    )
    clips.add_argument(
        "--diag-out", type=Path, metavar="CSV", help="write file,cj,relative_cost of every clip"
    )
    clips.add_argument("--indiv", type=Path, metavar="CSV", help="the same, sorted by cost")
    add_report_options(parser)
    parser.add_argument("--csv", type=Path, metavar="CSV", help="append each score as one row")
    add_json_option(parser)
    add_audit_option(parser)
    add_source_options(parser)
    add_common_options(parser)
    add_engine_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    with chosen_engine(options) as engine:
        if options.audit_only:
            audit_only(options, engine)
        else:
            _score(options, engine)


def _score(options: argparse.Namespace, engine: Engine | None) -> None:
    from otadtk.scoring import embed_once, evaluate

    _check_combination(options)
    outputs = {
        "--diag-out": options.diag_out,
        "--indiv": options.indiv,
        "--csv": options.csv,
        "--json": json_file(options),
        "--report": options.report,
    }
    check_outputs(outputs, [options.ref, options.eval, options.labels, options.groups])
    _check_table(options.csv)
    check_source_options(options, [options.ref, options.eval])
    metrics = make_metrics(options, options.model, engine)
    references = embed_once(metrics, options.ref, workers=options.workers)
    evaluated = embed_once(metrics, options.eval, workers=options.workers)
    audit = describe(metrics[0], references[0], evaluated[0])
    evaluations = []
    for metric, reference, other in zip(metrics, references, evaluated, strict=True):
        evaluation = evaluate(
            *(metric, reference, other),
            null=options.null or 0,
            interval=options.ci,
            limit=options.extrapolate,
            seed=options.seed or 0,
            workers=options.workers,
        )
        evaluations.append(evaluation)
        _explain(evaluation, strict=options.strict)
        if options.json != "-":
            print(evaluation.headline(), *evaluation.details(), sep="\n  ", flush=True)
        if options.csv is not None:
            _append_row(options.csv, _row(evaluation, options))
        if evaluation.measurement.diagnostics is not None:
            _show_clips(evaluation.measurement.diagnostics, options)
    if options.null is None and references[0].moments_only:
        logger.info("no floor was computed: that needs the reference clips, not their statistics")
    elif options.null is None:
        logger.info(
            "no floor was computed; add --null to see what two samples of one distribution score "
            "at this N and M"
        )
    if options.json is None and options.report is None and options.figures is None:
        return
    from otadtk.document import score_document

    document = score_document(
        *(evaluations, audit),
        reference=options.ref,
        evaluated=options.eval,
        command=options.command_line,
        seed=options.seed or 0,
        clips=options.json is not None,
    )
    write_reports(evaluations, document, options)
    if options.json is not None:
        emit_json(document, options)


def _check_combination(options: argparse.Namespace) -> None:
    """An option that would do nothing is an error, never silently dropped."""
    check_metric_options(options)
    drawn = options.null or options.ci or options.extrapolate
    if options.seed is not None and not (drawn or options.coupling in ("minibatch", "sliced")):
        raise UsageError(
            "--seed belongs to what is drawn: --null, --ci, --extrapolate, --coupling minibatch or "
            "sliced; remove it or add one of these."
        )
    if options.json == "-" and options.diagnose:
        raise UsageError(
            "--diagnose prints to stdout, which --json - has for itself; the costs are in the JSON."
        )
    if options.top_k is not None and not options.diagnose:
        raise UsageError("--top-k belongs to --diagnose; remove it or add --diagnose.")
    check_report_options(options)


def _explain(evaluation: Evaluation, *, strict: bool) -> None:
    """How the score was computed; under --strict an error when the solver has not converged."""
    for note in evaluation.notes():
        logger.warning("%s", note)
    diagnostics = evaluation.measurement.diagnostics
    if diagnostics is None or diagnostics.transport is None:
        return
    result, names = diagnostics.transport, (diagnostics.model_name, diagnostics.variant)
    logger.info("OTAD with %s, variant %s: %s", *names, result.describe())
    if diagnostics.volume is not None:
        logger.info("the adapter changes volumes: %s", diagnostics.volume)
    if strict and not result.converged:
        raise NotConvergedError(f"{result.notes[-1]} (--strict)")


def _show_clips(diagnostics: OTADDiagnostics, options: argparse.Namespace) -> None:
    """What was asked for about single clips."""
    if options.diagnose:
        print_worst(diagnostics, options.top_k or DEFAULT_TOP_K)
    if options.diag_out is not None:
        diagnostics.to_csv(options.diag_out)
        logger.info("per-clip costs are in %s", options.diag_out)
    if options.indiv is not None:
        diagnostics.to_csv(options.indiv, ascending=True)
        logger.info("per-clip costs, sorted, are in %s", options.indiv)


def _row(evaluation: Evaluation, options: argparse.Namespace) -> list[object]:
    diagnostics = evaluation.measurement.diagnostics
    variant = diagnostics.variant if diagnostics is not None else ""
    _, at, whose = evaluation.metric.spec.name.partition("@")  # frames are no clips
    model = f"{options.model}{at}{whose}"
    what = [evaluation.label, model, variant, options.ref, options.eval]
    return [*what, evaluation.score, evaluation.seconds]


def _check_table(path: Path | None) -> None:
    """Refuse to append scores to a file that is another table, or none."""
    if path is None or not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        first = file.readline(200).rstrip()
    if first != ",".join(_COLUMNS).encode():
        raise UsageError(
            f"{path} is not a table of scores: its first line is not {','.join(_COLUMNS)}."
        )


def _append_row(path: Path, row: Sequence[object]) -> None:
    """Append to the CSV, with its header when the file is new, in one write."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists() or path.stat().st_size == 0:
        writer.writerow(_COLUMNS)
    writer.writerow(row)
    with path.open("ab") as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    raise SystemExit(main())
