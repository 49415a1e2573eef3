"""What ``otadtk`` and ``otadtk-compare`` share: inputs, checks of files, and provenance."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.inputs.reading_options import add_reading_options
from otadtk.cli.shared.common_options import add_common_options, add_source_options
from otadtk.cli.shared.engine_options import add_engine_options
from otadtk.cli.shared.execute import suggest
from otadtk.cli.shared.json_output import json_file
from otadtk.cli.shared.metric_options import check_source_options
from otadtk.cli.shared.output_files import check_outputs

if TYPE_CHECKING:
    from otadtk.evaluation.evaluate import Evaluation
    from otadtk.evaluation.run import Provenance, UsedProtocol


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """How the sets are read and embedded, and on which engine."""
    add_source_options(parser)
    add_reading_options(parser)
    add_common_options(parser)
    add_engine_options(parser)


def check_files(
    options: argparse.Namespace,
    sets: Sequence[Path],
    *,
    tables: Sequence[Path | None] = (),
    outputs: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse outputs that cannot be written or overwrite an input, and useless source options.

    ``tables`` are further inputs. ``outputs`` are further outputs, by their options.
    """
    written = {**(outputs or {}), "--json": json_file(options), "--report": options.report}
    check_outputs(written, [*sets, *tables])
    check_source_options(options, sets)


def suggest_after_score(options: argparse.Namespace, evaluations: Sequence[Evaluation]) -> None:
    """The most useful command after a score, by what was found and what was not asked for."""
    diagnostics = evaluations[0].measurement.diagnostics
    judged = diagnostics.judgement.evaluated if diagnostics and diagnostics.judgement else None
    bad = int(judged.bad.sum()) if judged is not None else 0
    again = options.command_line
    if diagnostics is not None and options.report is None:
        what = f"the {bad} bad clips" if bad > 1 else "the bad clip" if bad else "the worst clips"
        suggest(f"{again} --report report.html", f"a page to hear and see {what}")
    elif not options.ci:
        suggest(f"{again} --ci", "an interval of the score")
    elif options.json is None:
        suggest(f"{again} --json run.json", "everything in one file, for otadtk-methods")
    elif options.json != "-":
        suggest(shlex.join(["otadtk-methods", str(options.json)]), "a paragraph for a paper")


def suggest_after_comparison(options: argparse.Namespace) -> None:
    """The most useful command after a comparison."""
    if options.report is None:
        suggest(f"{options.command_line} --report compare.html", "a page to hear what differs")
    elif options.json is None:
        suggest(f"{options.command_line} --json run.json", "everything in one file")
    elif options.json != "-":
        suggest(shlex.join(["otadtk-methods", str(options.json)]), "a paragraph for a paper")


def provenance(
    options: argparse.Namespace, device: str, protocol: UsedProtocol | None = None
) -> Provenance:
    """The provenance of a run of this command line."""
    from otadtk.evaluation.run import Provenance

    seed = getattr(options, "seed", None) or 0
    return Provenance(options.command_line, seed, device, protocol)
