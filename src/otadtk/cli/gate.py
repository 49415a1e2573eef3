"""``otadtk-gate --baseline run.json MODEL REF EVAL``: fails where a set is worse than a baseline."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.cli.inputs.tracked import (
    WORSE,
    add_reference,
    add_tracked_options,
    embed_reference,
    one_metric,
)
from otadtk.cli.shared.audit import describe
from otadtk.cli.shared.engine_options import chosen_engine
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.cli.shared.json_output import add_json_option, emit_json, json_file
from otadtk.cli.shared.output_files import check_outputs
from otadtk.cli.shared.scoring import provenance
from otadtk.errors import NotConvergedError, UsageError
from otadtk.metrics.entry import not_negative

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.tracking.record import Record
    from otadtk.tracking.scoring import Reference

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-gate",
        usage="%(prog)s --baseline RUN.json [--max-rise X | --significant] MODEL REF EVAL [options]",
        description="Score EVAL and compare it with a baseline: exit 0 if it is not worse, 6 if it "
        "is worse beyond noise.",
        epilog=f"{EXIT_CODES};\n{WORSE} worse than the baseline",
    )
    add_reference(parser, "reference clips, the same as the baseline's")
    parser.add_argument("eval", type=Path, help="evaluated clips, as many as the baseline's")
    parser.add_argument(
        "--baseline",
        required=True,
        type=Path,
        metavar="PATH",
        help="what otadtk --ci --json or this command with --json wrote of the baseline, or its clips",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--significant",
        action="store_true",
        help="fail if the interval of the rise is above 0, or if more clips are far from the "
        "reference than chance allows (default)",
    )
    limit.add_argument(
        "--max-rise",
        type=not_negative,
        metavar="X",
        help="the same, but only if the rise is more than X, too",
    )
    parser.add_argument(
        "--paired",
        action="store_true",
        help="clips of equal names in EVAL and the baseline, or of one pair in their manifests, belong "
        "together, as for the same prompts",
    )
    outputs = parser.add_argument_group("for a continuous integration")
    outputs.add_argument(
        "--markdown", type=Path, metavar="FILE", help="append a summary in Markdown"
    )
    outputs.add_argument("--junit", type=Path, metavar="XML", help="write the result as JUnit XML")
    add_json_option(parser)
    add_tracked_options(parser, seed="the baseline's")
    return parser


def _run(options: argparse.Namespace) -> int:
    with chosen_engine(options) as engine:
        return _gate(options, engine)


def _gate(options: argparse.Namespace, engine: Engine) -> int:
    from otadtk.tracking.gate import belong_together, decide, refuse_unlike
    from otadtk.tracking.record import Record
    from otadtk.tracking.summary import junit, markdown

    started = time.monotonic()
    chosen = one_metric(options, "A gate decides by")
    check_outputs(
        {"--json": json_file(options), "--junit": options.junit, "--markdown": options.markdown},
        [options.ref, options.eval, options.baseline],
    )
    baseline = _read_baseline(options, chosen.name)
    sets = [options.eval] if baseline is not None else [options.eval, options.baseline]
    reference = embed_reference(options, sets, engine)
    metric = reference.metric
    if baseline is not None:
        refuse_unlike(baseline, reference.embedded.content, reference.choices)
    else:
        logger.info("the baseline:")
        made = _score(reference, options.baseline, options)
        baseline = Record.of(made, metric.name, str(options.baseline))
    document = _score(reference, options.eval, options)
    current = Record.of(document, metric.name, str(options.eval))
    if current.pairs and not options.paired and belong_together(baseline, current):
        logger.info("both manifests name the same pairs: --paired compares the clips by these")
    gate = decide(baseline, current, max_rise=options.max_rise, paired=options.paired)
    if options.json != "-":
        print(gate.sentence())
        print(
            f"  a true {gate.word} of {gate.detectable:.6f} is found in about 80 % of runs of this size"
        )
        found = gate.newly_bad()
        if found:
            print(f"  {len(found)} clips are bad that were not, such as {found[0][0]}")
    if options.markdown is not None:
        with options.markdown.open("a", encoding="utf-8") as file:
            file.write(markdown(gate))
    if options.junit is not None:
        from otadtk.files.atomic import replacing

        with replacing(options.junit) as target:
            target.write(junit(gate, time.monotonic() - started).encode())
    emit_json(document, options)
    return WORSE if gate.worse else 0


def _read_baseline(options: argparse.Namespace, metric: str) -> Record | None:
    """The baseline of a document, whose seed counts if none is given; ``None`` for clips."""
    from otadtk.documents.reading import read_document
    from otadtk.tracking.record import Record

    if options.baseline.suffix.lower() != ".json":
        return None
    found = Record.of(read_document(options.baseline), metric, str(options.baseline))
    if options.seed is None:
        options.seed = found.interval.seed
    elif options.seed != found.interval.seed:
        raise UsageError(
            f"The baseline was drawn with --seed {found.interval.seed}, which the difference needs; "
            f"remove --seed {options.seed}."
        )
    return found


def _score(reference: Reference, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The document of one set, scored with its interval, floor and verdicts."""
    from otadtk.evaluation.designs import choose_design

    metric, seed = reference.metric, options.seed or 0
    evaluated = metric.embed(path)
    audit = describe(metric, reference.embedded, {"evaluated": evaluated})["evaluated"]
    design, remark = choose_design(reference.embedded, evaluated)
    if remark:
        logger.info("%s", remark)
    evaluation = reference.evaluate(evaluated, design=design, seed=seed)
    if options.strict and not evaluation.measurement.converged:
        raise NotConvergedError(f"{evaluation.measurement.notes[-1]} (--strict)")
    return reference.document(path, evaluation, audit, provenance(options, metric.device))


if __name__ == "__main__":
    raise SystemExit(main())
