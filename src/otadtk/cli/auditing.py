"""The audit on the command line: its lines on stderr with every score, or alone by ``--audit-only``."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from otadtk.cli.command import check_output
from otadtk.cli.json_output import emit_json, json_file
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otadtk.audit import PairAudit
    from otadtk.embed import EmbeddingSet
    from otadtk.engine import Engine
    from otadtk.metrics import AudioMetric

logger = logging.getLogger(__name__)

_WITH_AUDIT_ONLY = (
    *("model", "ref", "eval", "audit_only", "device", "workers", "recursive", "on_error"),
    *("force_emb_encode", "cache_dir", "weights", "quiet", "frames", "import_cache"),
    *(
        "command_line",
        "json",
        "engine",
        "ray_address",
        "num_actors",
        "gpus_per_actor",
        "batch_size",
    ),
)


def add_audit_option(parser: argparse.ArgumentParser) -> None:
    """``--audit-only``."""
    parser.add_argument(
        *("--audit-only",),
        action="store_true",
        help="report odd clips, duplicates and leakage between the sets; score nothing",
    )


def describe(metric: AudioMetric, reference: EmbeddingSet, evaluated: EmbeddingSet) -> PairAudit:
    """Notes on what is being compared: counts, files left out, what the audit found."""
    from otadtk.audit import audit_sets

    _describe_set("reference", reference)
    _describe_set("evaluated", evaluated)
    audit = audit_sets(reference, evaluated, minimum_seconds=_minimum_seconds(metric))
    for line in audit.warnings():
        logger.warning("%s", line)
    older = audit.reference.unknown + audit.evaluated.unknown
    if older:
        logger.info("nothing is known of the loudness of %d clips (no audio, or old cache)", older)
    return audit


def describe_systems(
    metric: AudioMetric, reference: EmbeddingSet, systems: Mapping[str, EmbeddingSet]
) -> dict[str, PairAudit]:
    """The same for several evaluated sets; what is odd about the reference is said once."""
    from otadtk.audit import audit_sets

    audits = {
        name: audit_sets(reference, side, minimum_seconds=_minimum_seconds(metric))
        for name, side in systems.items()
    }
    _describe_set("reference", reference)
    for line in next(iter(audits.values())).reference_warnings():
        logger.warning("%s", line)
    for name, audit in audits.items():
        _describe_set("evaluated", systems[name], f" of {name}")
        for line in audit.evaluated_warnings():
            logger.warning("%s: %s", name, line)
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


def audit_only(options: argparse.Namespace, engine: Engine | None = None) -> None:
    """Audit the two folders; bad audio is a failure, after everything else was reported."""
    from otadtk.metrics import FAD

    for name, value in vars(options).items():
        if name not in _WITH_AUDIT_ONLY and value not in (None, False):
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} does nothing with --audit-only; remove one of them.")
    check_output(json_file(options))
    metric = FAD(  # the metric that needs nothing beside embeddings
        options.model,
        device=options.device,
        weights=options.weights,
        cache_dir=options.cache_dir,
        recursive=options.recursive,
        on_error="skip",
        force_recompute=options.force_emb_encode,
        frames=options.frames,
        import_cache=options.import_cache,
        engine=engine,
    )
    sets = [metric.embed(place, workers=options.workers) for place in (options.ref, options.eval)]
    audit = describe(metric, *sets)
    if options.json is not None:
        from otadtk.document import audit_document

        places, command = (options.ref, options.eval), options.command_line
        emit_json(audit_document(metric, sets, audit, places=places, command=command), options)
    if any(side.bad for side in sets) and options.on_error == "fail":
        raise AudioError("some files cannot be scored (--on-error skip leaves them out).")
    count = len(audit.warnings())
    if options.json != "-":
        print(f"audit: {count or 'no'} finding{'' if count == 1 else 's'}")
