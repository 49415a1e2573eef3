"""``otadtk-compare MODEL REF A B [C …]``: which system is closer to the reference, and how surely."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.auditing import describe_systems
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
from otadtk.cli.reporting import add_page_options, check_page_options, write_comparison
from otadtk.errors import NotConvergedError, UsageError

if TYPE_CHECKING:
    from otadtk.audit import PairAudit
    from otadtk.comparison import Comparison
    from otadtk.engine import Engine

logger = logging.getLogger(__name__)

DEFAULT_BOOTSTRAP = 200
_LEAST_BOOTSTRAP = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-compare",
        usage="%(prog)s MODEL REF A B [C ...] [options]\n"
        "       %(prog)s -m MODEL,MODEL REF A B [C ...] [options]",
        description="Rank systems by their distance from a reference, with the difference of each "
        "to the next, its 95 % interval and the probability that the order is right.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("places", nargs="+", metavar="PLACE", help="[MODEL] REF A B [C ...]")
    parser.add_argument("-m", "--models", metavar="LIST", help="several encoders, as yamnet,logmel")
    add_metric_options(parser)
    parser.add_argument(
        *("--paired",),
        action="store_true",
        help="the systems' clips belong together by their order, as for the same prompts",
    )
    parser.add_argument(
        *("--bootstrap",),
        nargs="?",
        const=DEFAULT_BOOTSTRAP,
        type=positive_int,
        metavar="R",
        help="differences by R bootstrap replicates of all systems at once (default: "
        f"{DEFAULT_BOOTSTRAP}), instead of a jackknife",
    )
    parser.add_argument("--seed", type=seed_number, help="of everything that is drawn (default: 0)")
    add_page_options(parser)
    add_json_option(parser)
    add_source_options(parser)
    add_common_options(parser)
    add_engine_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    with chosen_engine(options) as engine:
        _compare(options, engine)


def _compare(options: argparse.Namespace, engine: Engine | None) -> None:
    from otadtk.comparison import compare
    from otadtk.scoring import embed_once

    check_metric_options(options)
    check_page_options(options)
    if options.bootstrap is not None and options.bootstrap < _LEAST_BOOTSTRAP:
        raise UsageError(
            f"An interval needs at least {_LEAST_BOOTSTRAP} replicates; --bootstrap "
            f"{options.bootstrap} is too few."
        )
    models, reference_place, systems = _places(options)
    check_outputs(
        {"--json": json_file(options), "--report": options.report},
        [reference_place, *systems.values(), options.groups],
    )
    check_source_options(options, [reference_place, *systems.values()])
    comparisons, notes = [], []
    audits: dict[str, PairAudit] = {}
    for model in models:
        metrics = make_metrics(options, model, engine)
        references = embed_once(metrics, reference_place, workers=options.workers)
        sets = {
            name: embed_once(metrics, place, workers=options.workers)
            for name, place in systems.items()
        }
        if not audits:  # those of the first model
            first = {name: found[0] for name, found in sets.items()}
            audits = describe_systems(metrics[0], references[0], first)
        for number, metric in enumerate(metrics):
            sides = {name: found[number] for name, found in sets.items()}
            comparison = compare(
                *(metric, references[number], sides),
                paired=options.paired,
                bootstrap=options.bootstrap or 0,
                seed=options.seed or 0,
                workers=options.workers,
            )
            if options.strict and not comparison.converged:
                raise NotConvergedError(f"{metric.name} with {model} has not converged (--strict)")
            notes += comparison.notes()
            comparisons.append(comparison)
    for note in dict.fromkeys(notes):
        logger.warning("%s", note)
    if options.json != "-":
        _print_table(comparisons)
    if options.json is not None or options.report is not None:
        from otadtk.document import comparison_document

        document = comparison_document(
            comparisons,
            reference=reference_place,
            systems=systems,
            audits=audits,
            command=options.command_line,
            seed=options.seed or 0,
        )
        if options.report is not None:
            write_comparison(comparisons, document, options)
        if options.json is not None:
            emit_json(document, options)


def _places(options: argparse.Namespace) -> tuple[list[str], Path, dict[str, Path]]:
    """(models, reference, systems by name)."""
    places = list(options.places)
    named = options.models if options.models is not None else places.pop(0)
    models = [name for name in dict.fromkeys(named.split(",")) if name]
    if not models or len(places) < 3:
        raise UsageError("A comparison needs a model, a reference and at least two systems.")
    reference, *systems = (Path(place) for place in places)
    by_name = {str(place): place for place in systems}
    if len(by_name) < len(systems):
        raise UsageError("A system is named twice; compare each with the others once.")
    return models, reference, by_name


def _print_table(comparisons: Sequence[Comparison]) -> None:
    """All models and metrics in one table, closest system first."""
    header = [
        *("model", "metric", "rank", "system", "clips", "score", "95 % (jackknife)"),
        *("next is farther by", f"95 % ({comparisons[0].method})", "P(closer)"),
    ]
    rows = [header]
    for comparison in comparisons:
        metric = comparison.metric
        for rank, system in enumerate(comparison.systems):
            lead, interval = comparison.lead(rank), system.interval
            row = [
                *(metric.model_name, metric.label, str(rank + 1), system.name, str(system.clips)),
                *(f"{system.score:.6f}", f"{interval.low:.6f} to {interval.high:.6f}"),
            ]
            if lead is not None:
                row += [
                    *(f"{0.0 - lead.value:.6f}", f"{0.0 - lead.high:.6f} to {0.0 - lead.low:.6f}"),
                    lead.shown_probability,
                ]
            rows.append(row)
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(header))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        )


if __name__ == "__main__":
    raise SystemExit(main())
