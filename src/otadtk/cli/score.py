"""``otadtk MODEL REF EVAL``: the distance between two folders of audio, and the clips that cause it."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.shared.audit import add_audit_option, audit_only, describe
from otadtk.cli.shared.common_options import positive_int, rate, seed_number
from otadtk.cli.shared.designs import (
    BY_NAME,
    add_floor_options,
    check_floor_options,
    design_by_options,
    known_groups,
)
from otadtk.cli.shared.engine_options import chosen_engine
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.cli.shared.json_output import add_json_option, emit_json
from otadtk.cli.shared.metric_options import (
    add_metric_options,
    check_metric_options,
    chosen_metrics,
    make_metrics,
)
from otadtk.cli.shared.protocol_options import (
    add_protocol_options,
    asks_for_protocol,
    protocol_metrics,
    take_protocol,
    used_protocol,
)
from otadtk.cli.shared.quality_option import add_quality_option, check_quality, with_quality
from otadtk.cli.shared.report_options import (
    add_report_options,
    check_report_options,
    check_tables,
    write_reports,
)
from otadtk.cli.shared.score_csv import append_score, check_score_csv
from otadtk.cli.shared.scoring import (
    add_input_options,
    check_files,
    provenance,
    suggest_after_score,
)
from otadtk.cli.shared.worst_clips import print_detection, print_worst
from otadtk.errors import NotConvergedError, UsageError
from otadtk.metrics.entry import no_limit
from otadtk.metrics.registry import get_metric

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.evaluation.evaluate import Evaluation
    from otadtk.evaluation.protocols.protocol import Protocol
    from otadtk.metrics.diagnostics import OTADDiagnostics

logger = logging.getLogger(__name__)

DEFAULT_TOP_K = 10
DEFAULT_FDR = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    return execute(_parser(protocol=asks_for_protocol(given)), _run, arguments)


def _parser(*, protocol: bool = False) -> argparse.ArgumentParser:
    """With a ``protocol`` there is no model to name."""
    parser = argparse.ArgumentParser(
        prog="otadtk",
        usage="%(prog)s MODEL REF EVAL [options], or --protocol NAME in place of MODEL",
        description="How far is a folder of evaluated clips from a folder of reference clips, "
        "and which clips are bad? The score goes to stdout, notes and progress to stderr.",
        epilog=EXIT_CODES,
    )
    if protocol:
        parser.set_defaults(model=None)
    else:
        parser.add_argument(
            "model", help="an encoder of otadtk-list-models, or path/to/file.py:Class"
        )
    parser.add_argument(
        "ref",
        type=Path,
        help="reference clips: a folder or file of audio, a glob, @list.txt, a manifest "
        "(.csv, .jsonl), a shard (.tar, .tar.gz, .parquet), or embeddings (.npy, .npz, .parquet, "
        ".otadpack)",
    )
    parser.add_argument("eval", type=Path, help="evaluated clips, in the same forms")
    add_metric_options(parser)
    add_protocol_options(parser)
    statistics = parser.add_argument_group("statistics (every metric)")
    add_floor_options(statistics)
    statistics.add_argument(
        "--paired",
        nargs="?",
        const=BY_NAME,
        metavar="CSV",
        help="clips of equal names, or of one line of a CSV of reference,evaluated, belong "
        "together: adds their distance, and the floor swaps partners only",
    )
    statistics.add_argument(
        "--ci", action="store_true", help="95 %% interval of the expected score at this N and M"
    )
    statistics.add_argument(
        "--extrapolate",
        "--inf",
        action="store_true",
        help="the score for infinitely many clips, by a fit in 1/N (not of OTAD: see --excess)",
    )
    statistics.add_argument(
        "--seed", type=seed_number, help="seed of all random draws (default: 0)"
    )

    clips = parser.add_argument_group("single clips (OTAD)")
    clips.add_argument(
        "--fdr",
        type=rate,
        metavar="F",
        help="call clips bad so that at most this share of them is a false alarm in expectation "
        f"(default: {DEFAULT_FDR}, if that is quick)",
    )
    clips.add_argument(
        "--diagnose", action="store_true", help="print the clips of largest transport cost"
    )
    clips.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help=f"how many clips --diagnose prints (default: {DEFAULT_TOP_K})",
    )
    clips.add_argument(
        "--only-bad",
        action="store_true",
        help="let --diagnose print only clips that are worse than chance allows",
    )
    clips.add_argument(
        "--diag-out", type=Path, metavar="CSV", help="write cost, p, q and verdict of every clip"
    )
    clips.add_argument("--indiv", type=Path, metavar="CSV", help="the same, sorted by cost")
    add_quality_option(clips)
    add_report_options(parser)
    scores = parser.add_argument_group("scores")
    scores.add_argument("--csv", type=Path, metavar="CSV", help="append each score as one row")
    add_json_option(parser)
    add_audit_option(parser)
    add_input_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    protocol = take_protocol(options)
    with chosen_engine(options) as engine:
        if options.audit_only:
            audit_only(options, engine)
        else:
            _score(options, engine, protocol)


def _score(options: argparse.Namespace, engine: Engine, protocol: Protocol | None) -> None:
    from otadtk.evaluation.defaults import with_floor, with_verdicts
    from otadtk.evaluation.evaluate import embed_once, evaluate

    _check_combination(options)
    check_files(
        options,
        [options.ref, options.eval],
        tables=[options.labels, options.groups],
        outputs={
            "--diag-out": options.diag_out,
            "--indiv": options.indiv,
            "--csv": options.csv,
        },
    )
    check_score_csv(options.csv)
    if protocol is not None:
        metrics = protocol_metrics(protocol, options, engine)
    else:
        metrics = make_metrics(options, options.model, [options.ref, options.eval], engine)
    references = embed_once(metrics, options.ref)
    evaluated = embed_once(metrics, options.eval)
    audit = describe(metrics[0], references[0], {"evaluated": evaluated[0]})["evaluated"]
    check_tables(options, references[0].files, evaluated[0].files)
    design, remark = design_by_options(
        references[0], evaluated[0], groups=options.groups, paired=options.paired
    )
    if remark:
        logger.info("%s", remark)
    evaluations: list[Evaluation] = []
    for metric, reference, other in zip(metrics, references, evaluated, strict=True):
        evaluation = evaluate(
            metric,
            reference,
            other,
            null=options.null or 0 if metric.has_floor else 0,
            interval=options.ci,
            limit=options.extrapolate and metric.has_limit,
            excess=options.excess and metric.has_floor,
            paired=options.paired is not None,
            design=design,
            seed=options.seed or 0,
        )
        if options.null is None and not options.no_null and protocol is None:
            evaluation = with_floor(
                evaluation, design=design, seed=options.seed or 0, engine=metric.engine
            )
        evaluation = with_verdicts(
            evaluation,
            fdr=options.fdr,
            groups=known_groups(options.groups, reference, other),
            seed=options.seed or 0,
        )
        _explain(evaluation, strict=options.strict)
        if options.json != "-":
            print(evaluation.headline(), *evaluation.details(), sep="\n  ", flush=True)
        evaluation = with_quality(evaluation, options)
        evaluations.append(evaluation)
        if options.csv is not None:
            append_score(evaluation, options)
        if options.json != "-":
            print_detection(evaluation, options.labels)
        if evaluation.measurement.diagnostics is not None:
            _show_clips(evaluation.measurement.diagnostics, options)
    if options.json is None and options.report is None and options.figures is None:
        suggest_after_score(options, evaluations)
        return
    from otadtk.documents.document import score_document
    from otadtk.evaluation.run import ScoreRun

    used = used_protocol(protocol, options) if protocol is not None else None
    made = provenance(options, metrics[0].device, used)
    run = ScoreRun(options.ref, options.eval, tuple(evaluations), audit, made)
    document = score_document(run, clips=options.json is not None)
    write_reports(run, document, options)
    emit_json(document, options)
    suggest_after_score(options, evaluations)


def _check_combination(options: argparse.Namespace) -> None:
    """Refuse options that would do nothing."""
    check_metric_options(options)
    drawn = not options.no_null or options.ci or options.extrapolate or options.excess
    judged = any(get_metric(name).has_clip_costs for name in chosen_metrics(options))
    if options.seed is not None and not (drawn or judged):
        raise UsageError(
            "--seed belongs to the floor, --ci, --extrapolate, --excess and the verdicts of OTAD, "
            "and nothing of these is computed; remove it."
        )
    if not judged:
        for flag, given in (("--fdr", options.fdr), ("--only-bad", options.only_bad)):
            if given:
                raise UsageError(f"{flag} belongs to OTAD, the metric with costs of clips.")
    check_floor_options(options)
    if options.extrapolate:
        chosen = [get_metric(name) for name in chosen_metrics(options)]
        without = [metric.name for metric in chosen if not metric.has_limit]
        if len(without) == len(chosen):
            raise UsageError(no_limit(without[0]))
        for name in without:
            logger.info("%s", no_limit(name))
    if options.excess and options.paired is not None:
        raise UsageError(
            "--excess compares halves of the sets, which --paired ties together; remove one of them."
        )
    if options.json == "-" and options.diagnose:
        raise UsageError(
            "--diagnose and --json - both write to stdout; remove --diagnose: the costs are in the "
            "JSON."
        )
    if options.top_k is not None and not options.diagnose:
        raise UsageError("--top-k belongs to --diagnose; remove it or add --diagnose.")
    if options.only_bad and not options.diagnose:
        raise UsageError("--only-bad belongs to --diagnose; remove it or add --diagnose.")
    check_report_options(options)
    check_quality(options, judged=judged)


def _explain(evaluation: Evaluation, *, strict: bool) -> None:
    """Log how the score was computed; with ``strict``, fail if the solver has not converged."""
    for note in evaluation.notes():
        logger.warning("%s", note)
    for remark in evaluation.remarks():
        logger.info("%s", remark)
    measurement = evaluation.measurement
    if measurement.description:
        logger.info("%s", measurement.description)
    if strict and not measurement.converged:
        raise NotConvergedError(f"{measurement.notes[-1]} (--strict)")


def _show_clips(diagnostics: OTADDiagnostics, options: argparse.Namespace) -> None:
    """Print and write the costs of single clips, as the options say."""
    if options.diagnose:
        print_worst(diagnostics, options.top_k or DEFAULT_TOP_K, only_bad=options.only_bad)
    if options.diag_out is not None:
        diagnostics.to_csv(options.diag_out)
        logger.info("per-clip costs are in %s", options.diag_out)
    if options.indiv is not None:
        diagnostics.to_csv(options.indiv, ascending=True)
        logger.info("per-clip costs, sorted, are in %s", options.indiv)


if __name__ == "__main__":
    raise SystemExit(main())
