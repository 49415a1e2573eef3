"""``otadtk-compare MODEL REF A B [C …]``: systems ranked by distance from a reference, with intervals."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.inputs.systems import in_order_of_pairs, named_pairs, suggest_pairs, systems_of
from otadtk.cli.inputs.tracked import WORSE, check_baseline, rises_over_baseline
from otadtk.cli.shared.audit import describe
from otadtk.cli.shared.common_options import positive_int, seed_number
from otadtk.cli.shared.designs import (
    add_floor_options,
    check_floor_options,
    design_by_options,
)
from otadtk.cli.shared.engine_options import chosen_engine
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.cli.shared.json_output import add_json_option, emit_json
from otadtk.cli.shared.metric_options import add_metric_options, check_metric_options, make_metrics
from otadtk.cli.shared.protocol_options import (
    add_protocol_options,
    protocol_metrics,
    take_protocol,
    used_protocol,
)
from otadtk.cli.shared.ranking_table import print_ranking
from otadtk.cli.shared.report_options import (
    add_page_options,
    check_page_options,
    write_comparison,
)
from otadtk.cli.shared.scoring import (
    add_input_options,
    check_files,
    provenance,
    suggest_after_comparison,
)
from otadtk.errors import NotConvergedError, UsageError

if TYPE_CHECKING:
    from otadtk.embed import EmbeddingSet, Source
    from otadtk.engine import Engine
    from otadtk.evaluation.audit import PairAudit
    from otadtk.evaluation.compare import Comparison
    from otadtk.evaluation.protocols.protocol import Protocol
    from otadtk.metrics import AudioMetric
    from otadtk.statistics.designs import Design

logger = logging.getLogger(__name__)

DEFAULT_BOOTSTRAP = 200
_LEAST_BOOTSTRAP = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-compare",
        usage="%(prog)s MODEL REF A B [C ...] [options]\n"
        "       %(prog)s -m MODEL,MODEL REF A B [C ...] [options]\n"
        "       %(prog)s --protocol NAME REF A B [C ...] [options]",
        description="Rank systems by their distance from a reference, with the difference of each "
        "to the next, its 95 % interval and the probability that the order is right.",
        epilog=f"{EXIT_CODES};\n{WORSE} worse than the baseline (--fail-if-worse)",
    )
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="[MODEL] REF A B [C ...]")
    parser.add_argument("-m", "--models", metavar="LIST", help="several encoders, as yamnet,logmel")
    add_metric_options(parser)
    add_protocol_options(parser)
    parser.add_argument(
        "--paired",
        action="store_true",
        help="the k-th clips of all systems belong together, as for the same prompts",
    )
    parser.add_argument(
        "--bootstrap",
        nargs="?",
        const=DEFAULT_BOOTSTRAP,
        type=positive_int,
        metavar="R",
        help="differences by R bootstrap replicates of all systems at once (default: "
        f"{DEFAULT_BOOTSTRAP}), instead of a jackknife",
    )
    against = parser.add_argument_group("against one of the systems (as otadtk-gate)")
    against.add_argument(
        "--baseline",
        metavar="SYSTEM",
        help="say of every other system whether it is worse than this one beyond noise",
    )
    against.add_argument("--fail-if-worse", action="store_true", help=f"exit {WORSE} if one is")
    statistics = parser.add_argument_group("statistics of each system (every metric)")
    add_floor_options(statistics)
    parser.add_argument("--seed", type=seed_number, help="seed of all random draws (default: 0)")
    add_page_options(parser)
    add_json_option(parser)
    add_input_options(parser)
    return parser


def _run(options: argparse.Namespace) -> int:
    with chosen_engine(options) as engine:
        return _compare(options, engine)


def _compare(options: argparse.Namespace, engine: Engine) -> int:
    from otadtk.evaluation.compare import compare
    from otadtk.evaluation.defaults import ENOUGH, PERMUTATIONS, has_quick_floor
    from otadtk.evaluation.evaluate import embed_once

    protocol = take_protocol(options)
    check_metric_options(options)
    check_page_options(options, shown_elsewhere=True)
    check_floor_options(options)
    if options.bootstrap is not None and options.bootstrap < _LEAST_BOOTSTRAP:
        raise UsageError(
            f"An interval needs at least {_LEAST_BOOTSTRAP} replicates; --bootstrap "
            f"{options.bootstrap} is too few."
        )
    models, reference_path, systems, sources = _inputs(options)
    check_baseline(options, models, list(systems))
    paths = [reference_path, *systems.values()]
    check_files(options, paths, tables=[options.groups])
    comparisons: list[Comparison] = []
    notes: list[str] = []
    audits: dict[str, PairAudit] = {}
    designs: dict[str, Design | None] | None = None
    for metrics in _metrics_to_embed(options, protocol, models, paths, engine):
        references = embed_once(metrics, reference_path)
        sets = {name: embed_once(metrics, source) for name, source in sources.items()}
        if not audits and not options.paired:
            options.paired = named_pairs({name: found[0] for name, found in sets.items()})
        if options.paired:
            sets = in_order_of_pairs(sets)
        if not audits:  # the sets are audited with the first model
            first = {name: found[0] for name, found in sets.items()}
            audits = describe(metrics[0], references[0], first)
            if not metrics[0].spec.reading.usual and not metrics[0].entry:
                logger.info("clips: %s", metrics[0].spec.reading.describe())
            if not options.paired:
                suggest_pairs(first)
        if designs is None:
            designs = _designs(options, references[0], {n: found[0] for n, found in sets.items()})
        for number, metric in enumerate(metrics):
            how = {"null": options.null or 0, "excess": options.excess, "designs": designs}
            sides = {name: found[number] for name, found in sets.items()}
            quick = options.null is None and not options.no_null and protocol is None
            if quick and has_quick_floor(metric, references[number], list(sides.values())):
                how["null"], how["enough"] = PERMUTATIONS, ENOUGH
            comparison = compare(
                metric,
                references[number],
                sides,
                paired=options.paired,
                bootstrap=options.bootstrap or 0,
                seed=options.seed or 0,
                **how,
            )
            if options.strict and not comparison.converged:
                raise NotConvergedError(
                    f"{metric.name} with {metric.model_name} has not converged (--strict)"
                )
            notes += comparison.notes()
            comparisons.append(comparison)
    for note in dict.fromkeys(notes):
        logger.warning("%s", note)
    rises = rises_over_baseline(options, comparisons[0])
    code = WORSE if options.fail_if_worse and any(r.beyond_noise for r in rises.values()) else 0
    if options.json != "-":
        print_ranking(comparisons)
        if any(comparison.metric.higher_is_better for comparison in comparisons):
            titles = dict.fromkeys(comparison.title for comparison in comparisons)
            logger.info("ranked by %s", "; ".join(titles))
        for name, rise in rises.items():
            print(f"{name} against {options.baseline}: {rise.sentence()}")
    if options.json is None and options.report is None:
        suggest_after_comparison(options)
        return code
    from otadtk.documents.document import comparison_document
    from otadtk.evaluation.run import ComparisonRun

    used = used_protocol(protocol, options) if protocol is not None else None
    made = provenance(options, comparisons[0].metric.device, used)
    run = ComparisonRun(reference_path, systems, tuple(comparisons), audits, made)
    document = comparison_document(run)
    write_comparison(run, document, options)
    emit_json(document, options)
    suggest_after_comparison(options)
    return code


def _metrics_to_embed(
    options: argparse.Namespace,
    protocol: Protocol | None,
    models: Sequence[str],
    paths: Sequence[Path],
    engine: Engine,
) -> Iterator[list[AudioMetric]]:
    """The metrics, in lots that are embedded together: those of a protocol, or of each model."""
    if protocol is not None:
        yield protocol_metrics(protocol, options, engine)
    for model in models:
        yield make_metrics(options, model, paths, engine)


def _designs(
    options: argparse.Namespace, reference: EmbeddingSet, systems: Mapping[str, EmbeddingSet]
) -> dict[str, Design | None]:
    """The design of each system's floor; a line says which systems have twins or groups."""
    from otadtk.evaluation.compare import said_once

    chosen = {
        name: design_by_options(reference, side, groups=options.groups)
        for name, side in systems.items()
    }
    for line in said_once({name: [remark] for name, (_, remark) in chosen.items() if remark}):
        logger.info("%s", line)
    return {name: design for name, (design, _) in chosen.items()}


def _inputs(
    options: argparse.Namespace,
) -> tuple[list[str], Path, dict[str, Path], dict[str, Source]]:
    """(models, reference, file or folder of each system by name, its clips).

    A manifest with a column ``system`` holds several systems.
    """
    inputs = list(options.inputs)
    if options.protocol is not None:
        if options.models is not None:
            raise UsageError("--models does not go with --protocol, which decides that; remove it.")
        models, wanted = [], ""
    else:
        named = options.models if options.models is not None else inputs.pop(0)
        models, wanted = [name for name in dict.fromkeys(named.split(",")) if name], "a model, "
    reference, *named_systems = [Path(text) for text in inputs] or [Path()]
    systems = [
        (name, path, source) for path in named_systems for name, source in systems_of(path).items()
    ]
    if (wanted and not models) or len(systems) < 2:
        raise UsageError(f"A comparison needs {wanted}a reference and at least two systems.")
    if len({name for name, _, _ in systems}) < len(systems):
        raise UsageError("A system is named twice; name each once.")
    places = {name: path for name, path, _ in systems}
    return models, reference, places, {name: source for name, _, source in systems}


if __name__ == "__main__":
    raise SystemExit(main())
