"""What commands share that compare with a baseline or with earlier runs, by one metric."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.shared.common_options import seed_number
from otadtk.cli.shared.metric_options import (
    add_metric_options,
    check_metric_options,
    check_source_options,
    chosen_metrics,
    make_metrics,
)
from otadtk.cli.shared.scoring import add_input_options
from otadtk.errors import UsageError
from otadtk.metrics.registry import get_metric

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.evaluation.compare import Comparison
    from otadtk.metrics import AudioMetric
    from otadtk.tracking.gate import Rise
    from otadtk.tracking.scoring import Reference

WORSE = 6
"""The exit code of a set that is worse than its baseline beyond noise."""


def add_reference(parser: argparse.ArgumentParser, which: str) -> None:
    """``MODEL`` and ``REF``."""
    parser.add_argument("model", help="an encoder of otadtk-list-models, or path/to/file.py:Class")
    parser.add_argument("ref", type=Path, help=which)


def add_tracked_options(parser: argparse.ArgumentParser, *, seed: str) -> None:
    """The options of the metric, ``--seed`` and those of the inputs; ``seed`` is the default."""
    add_metric_options(parser)
    parser.add_argument(
        "--seed", type=seed_number, help=f"seed of all random draws (default: {seed})"
    )
    add_input_options(parser)


def one_metric(options: argparse.Namespace, what: str) -> type[AudioMetric]:
    """The metric that was asked for; a UsageError if there are several."""
    check_metric_options(options)
    chosen = chosen_metrics(options)
    if len(chosen) > 1:
        raise UsageError(f"{what} one metric, not {', '.join(chosen)}; name one.")
    return get_metric(chosen[0])


def embed_reference(options: argparse.Namespace, sets: Sequence[Path], engine: Engine) -> Reference:
    """The reference, embedded, after a look at the sets that are compared with it."""
    from otadtk.tracking.scoring import Reference

    sources = [options.ref, *sets]
    check_source_options(options, sources)
    (metric,) = make_metrics(options, options.model, sources, engine)
    return Reference(metric, options.ref, metric.embed(options.ref))


def check_baseline(
    options: argparse.Namespace, models: Sequence[str], systems: Sequence[str]
) -> None:
    """Refuse ``--fail-if-worse`` without ``--baseline``, and one that cannot decide."""
    if options.baseline is None:
        if options.fail_if_worse:
            raise UsageError("--fail-if-worse needs --baseline SYSTEM, one of the systems.")
        return
    if options.protocol is not None or len(models) > 1:
        raise UsageError("--baseline decides by one metric of one model; name one.")
    one_metric(options, "--baseline decides by")
    options.baseline = str(Path(options.baseline))  # a folder may be given with a slash
    if options.baseline not in systems:
        listed = ", ".join(systems)
        raise UsageError(f"--baseline {options.baseline} is none of the systems: {listed}.")


def rises_over_baseline(options: argparse.Namespace, comparison: Comparison) -> dict[str, Rise]:
    """How much worse each other system is than the ``--baseline``; empty without one."""
    if options.baseline is None:
        return {}
    from otadtk.tracking.gate import rises_in

    return rises_in(comparison, options.baseline)
