"""The audit: its findings on stderr with every score, or alone with ``--audit-only``."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from otadtk.cli.inputs.reading_options import GROUP as READING_GROUP
from otadtk.cli.shared.common_options import AUDIO_GROUP, SOURCE_GROUP, given_in, group_titles
from otadtk.cli.shared.engine_options import GROUP as ENGINE_GROUP
from otadtk.cli.shared.json_output import emit_json, json_file
from otadtk.cli.shared.metric_options import embedding_options
from otadtk.cli.shared.output_files import check_output
from otadtk.cli.shared.scoring import provenance
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otadtk.embed import EmbeddingSet
    from otadtk.engine import Engine
    from otadtk.evaluation.audit import PairAudit
    from otadtk.metrics import AudioMetric

logger = logging.getLogger(__name__)

_USED_BY_AUDIT = (AUDIO_GROUP, SOURCE_GROUP, ENGINE_GROUP, READING_GROUP)


def add_audit_option(parser: argparse.ArgumentParser) -> None:
    """``--audit-only``."""
    parser.add_argument(
        "--audit-only",
        action="store_true",
        help="report odd clips, duplicates and leakage between the sets; score nothing",
    )


def describe(
    metric: AudioMetric,
    reference: EmbeddingSet,
    systems: Mapping[str, EmbeddingSet],
    *,
    listed: bool = False,
) -> dict[str, PairAudit]:
    """The audit of each evaluated set by name; logs the sizes and one line on all findings.

    The single findings are logged for ``--verbose``, or instead of that line if ``listed``. They
    are in the JSON and on the page, too.
    """
    from otadtk.evaluation.audit import audit_sets
    from otadtk.evaluation.audit_lines import set_lines, summary_line

    audits = {
        name: audit_sets(reference, side, minimum_seconds=_minimum_seconds(metric))
        for name, side in systems.items()
    }
    several = len(systems) > 1
    _describe_set("reference", reference)
    for name, side in systems.items():
        _describe_set("evaluated", side, f" of {name}" if several else "")
    found = summary_line(audits)
    if found and not listed:
        logger.warning("audit: %s (-v names the clips)", found)
    level = logging.WARNING if listed else logging.DEBUG
    in_reference = set_lines("reference", next(iter(audits.values())).reference)
    for line in in_reference:
        logger.log(level, "%s", line)
    for name, audit in audits.items():
        for line in audit.warnings()[len(in_reference) :]:
            logger.log(level, "%s%s", f"{name}: " if several else "", line)
    unknown = next(iter(audits.values())).reference.unknown
    unknown += sum(audit.evaluated.unknown for audit in audits.values())
    if unknown:
        logger.debug("the loudness of %d clips is unknown (no audio, or an old cache)", unknown)
    return audits


def _minimum_seconds(metric: AudioMetric) -> float:
    return metric.spec.minimum_samples / metric.spec.sample_rate


def _describe_set(name: str, side: EmbeddingSet, of: str = "") -> None:
    cached = len(side.files) - side.encoded
    clips = "clip" if len(side.files) == 1 else "clips"
    if side.note:
        logger.info("%s%s: %s", name, of, side.note)
    else:
        logger.info("%d %s %s%s (%d from the cache)", len(side.files), name, clips, of, cached)


def audit_only(options: argparse.Namespace, engine: Engine) -> None:
    """Audit two sets and print the number of findings; bad audio fails after the full report."""
    from otadtk.metrics import FAD

    scoring = [title for title in group_titles(options) if title not in _USED_BY_AUDIT]
    for flag in given_in(options, *scoring):
        raise UsageError(f"{flag} does nothing with --audit-only; remove one of them.")
    check_output(json_file(options))
    how = embedding_options(options, engine)
    how["on_error"] = "skip"
    metric = FAD(options.model, **how)  # the metric with the fewest needs: only embeddings
    paths = (options.ref, options.eval)
    sets = [metric.embed(path) for path in paths]
    audit = describe(metric, sets[0], {"evaluated": sets[1]}, listed=True)["evaluated"]
    if options.json is not None:
        from otadtk.documents.document import audit_document

        made = provenance(options, metric.device)
        emit_json(audit_document(paths, sets, audit, made), options)
    if any(side.bad for side in sets) and options.on_error == "fail":
        raise AudioError("some files cannot be scored (--on-error skip leaves them out).")
    count = len(audit.warnings())
    if options.json != "-":
        print(f"audit: {count or 'no'} finding{'' if count == 1 else 's'}")
