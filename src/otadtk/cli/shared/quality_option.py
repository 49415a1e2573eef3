"""``--quality``: predicted speech quality of single clips, beside their costs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.evaluation.evaluate import Evaluation

_NAMES = {
    "dnsmos_sig": "DNSMOS speech",
    "dnsmos_bak": "DNSMOS background",
    "dnsmos_ovrl": "DNSMOS overall",
    "distillmos": "DistillMOS",
}


def add_quality_option(group: argparse._ArgumentGroup) -> None:
    """``--quality``."""
    group.add_argument(
        "--quality",
        metavar="LIST",
        help="predict the speech quality of every clip without a reference: dnsmos, distillmos or "
        "both, by comma; it is shown and written, and no distance uses it",
    )


def check_quality(options: argparse.Namespace, *, judged: bool) -> None:
    """Refuse unknown measures, and the option where no costs of clips are computed."""
    if options.quality is None:
        return
    from otadtk.quality import parse_measures

    parse_measures(options.quality)
    if not judged:
        raise UsageError("--quality belongs to OTAD, the metric with costs of clips.")


def with_quality(evaluation: Evaluation, options: argparse.Namespace) -> Evaluation:
    """The evaluation with the ratings of its clips, if asked for; prints the means of both sets."""
    diagnostics = evaluation.measurement.diagnostics
    if options.quality is None or diagnostics is None:
        return evaluation
    from statistics import fmean

    import torch

    from otadtk.quality import parse_measures, rate_clips

    for side in (evaluation.reference, evaluation.evaluated):
        if any(audit is None for audit in side.audits):
            raise UsageError("--quality needs audio on both sides, not embeddings.")
    measures = parse_measures(options.quality)
    device, reading = torch.device("cpu"), evaluation.metric.spec.reading
    rated, reference = (
        rate_clips(measures, [side.clip(i) for i in range(len(side.files))], device, reading)
        for side in (evaluation.evaluated, evaluation.reference)
    )
    if options.json != "-":
        for name, column in rated.items():
            before, after = fmean(reference[name]), fmean(column)
            print(f"{_NAMES[name]}: {after:.2f} evaluated, {before:.2f} reference (means, 1 to 5)")
    measurement = replace(evaluation.measurement, diagnostics=replace(diagnostics, quality=rated))
    return replace(evaluation, measurement=measurement)
