"""The JSON document of a run: results, statistics, certificates, clips, audit and provenance."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from otadtk import __version__
from otadtk.documents.reading import SCHEMA
from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.evaluation.audit import PairAudit
from otadtk.evaluation.compare import Comparison
from otadtk.evaluation.evaluate import Evaluation
from otadtk.evaluation.run import ComparisonRun, Provenance, ScoreRun
from otadtk.files.atomic import replacing
from otadtk.metrics import AudioMetric, Measurement
from otadtk.metrics.diagnostics import OTADDiagnostics
from otadtk.metrics.registry import all_metrics
from otadtk.metrics.verdicts import BAD, GOOD
from otadtk.statistics.resampling import Floor
from otadtk.statistics.verdicts import Verdicts

NEAREST = 3
"""Nearest references listed for a clip."""
_NEAREST_WORK = 4_000_000_000
"""Most coordinates read for nearest references; in larger runs only the worst clips have them."""
_LIBRARIES = ("numpy", "scipy", "torch", "POT", "soundfile", "soxr", "safetensors")

Json = dict[str, Any]


def score_document(run: ScoreRun, *, clips: bool = True) -> Json:
    """The document of two scored sets; ``clips`` adds the costs of single clips."""
    first = run.evaluations[0]
    return {
        **_head("score", run.provenance),
        "sets": _sets((run.reference, run.evaluated), (first.reference, first.evaluated)),
        "results": [_result(evaluation, clips=clips) for evaluation in run.evaluations],
        "audit": run.audit.to_dict(),
    }


def audit_document(
    paths: Sequence[str | Path],
    sets: Sequence[EmbeddingSet],
    audit: PairAudit,
    provenance: Provenance,
) -> Json:
    """The document of two sets that were only audited."""
    return {
        **_head("audit", provenance),
        "sets": _sets(paths, sets),
        "results": [],
        "audit": audit.to_dict(),
    }


def comparison_document(run: ComparisonRun) -> Json:
    """The document of several compared systems."""
    return {
        **_head("comparison", run.provenance),
        "reference": os.fspath(run.reference),
        "results": [_comparison(comparison, run.systems) for comparison in run.comparisons],
        "audits": {name: audit.to_dict() for name, audit in run.audits.items()},
    }


def _comparison(comparison: Comparison, systems: Mapping[str, str | Path]) -> Json:
    facts = [name for _, metric in all_metrics() for name in metric.facts_schema]
    return {
        **metric_record(comparison.metric),
        "reference_clips": comparison.reference_clips,
        "paired": comparison.paired,
        "systems": [
            {
                "name": system.name,
                "path": os.fspath(systems[system.name]),
                "clips": system.clips,
                "score": system.score,
                **_values(system.measurement),
                "interval": asdict(system.interval),
                "floor": _floor(system.statistics.floor, system.score),
                "excess": None
                if system.statistics.excess is None
                else asdict(system.statistics.excess),
                **{name: system.measurement.facts.get(name) for name in facts},
            }
            for system in comparison.systems
        ],
        "differences": [
            {"first": first, "second": second, **asdict(found)}
            for (first, second), found in comparison.differences.items()
        ],
        "notes": comparison.notes(),
    }


def to_text(document: Json) -> str:
    """The document as JSON in ASCII; numbers that are not finite become null."""
    return json.dumps(_plain(document), indent=1, allow_nan=False) + "\n"


def write_document(document: Json, path: Path) -> None:
    """Write the document in one step, so that no partial file is left."""
    with replacing(path) as file:
        file.write(to_text(document).encode())


def _head(kind: str, provenance: Provenance) -> Json:
    return {
        "schema": SCHEMA,
        "kind": kind,
        "provenance": {
            "otadtk": __version__,
            "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **asdict(provenance),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "threads": os.cpu_count(),
            "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
    }


def _sets(paths: Sequence[str | Path], sets: Sequence[EmbeddingSet]) -> Json:
    (reference, evaluated), names = zip(paths, sets, strict=True), ("reference", "evaluated")
    return dict(zip(names, (_set(*reference), _set(*evaluated)), strict=True))


def _set(path: str | Path, side: EmbeddingSet) -> Json:
    return {
        "path": os.fspath(path),
        "clips": len(side.files),
        "points": len(side.points),
        "compared": "clips" if side.frames is None else "frames",
        "encoded": side.encoded,
        "left_out": [{"file": os.fspath(c.path), "reason": c.reason} for c in side.bad],
        "note": side.note,
        "content": side.content,
    }


def _model(spec: EncoderSpec) -> Json:
    return {
        "name": spec.name,
        "fingerprint": spec.fingerprint,
        "weights": [{"file": file.name, "digest": file.digest} for file in spec.weights],
        "sample_rate": spec.sample_rate,
        "dimensions": spec.dim,
        "preprocessing": spec.preprocessing,
        "licence": spec.licence,
        "paper": spec.paper,
    }


def metric_record(metric: AudioMetric) -> Json:
    """The metric, its encoder, settings and adapter, as every result names them."""
    settings, card = metric.settings_record, metric.card
    described: Json = {"metric": metric.name, "model": _model(metric.spec), "settings": settings}
    described["higher_is_better"] = metric.higher_is_better
    if metric.entry:
        described["entry"] = metric.entry
    if "variant" in settings:
        facts = ("encoder", "variant", "content", "origin", "licence")
        own = {"file": str(metric.ground.file)} if metric.ground.file is not None else {}
        described["adapter"] = card and {**{name: getattr(card, name) for name in facts}, **own}
    return described


def _values(measurement: Measurement) -> Json:
    """The named numbers of a metric that returns several."""
    return {"values": dict(measurement.values)} if measurement.values else {}


def _result(evaluation: Evaluation, *, clips: bool) -> Json:
    found, measurement = evaluation.statistics, evaluation.measurement
    result = {
        **metric_record(evaluation.metric),
        "score": evaluation.score,
        **_values(measurement),
        "seconds": evaluation.seconds,
        "statistics": {
            "floor": _floor(found.floor, evaluation.score),
            "interval": None if found.interval is None else asdict(found.interval),
            "limit": None if found.limit is None else asdict(found.limit),
            "excess": None if found.excess is None else asdict(found.excess),
            "paired": None if found.paired is None else asdict(found.paired),
        },
        "notes": evaluation.notes(),
        **measurement.facts,
    }
    diagnostics = measurement.diagnostics
    if clips and diagnostics is not None and diagnostics.transport is not None:
        result["clips"] = _clips(diagnostics, evaluation.evaluated.vectors.shape[1])
        result["reference_clips"] = _reference_clips(diagnostics)
    if diagnostics is not None and diagnostics.judgement is not None:
        judgement = diagnostics.judgement
        result["verdicts"] = {
            "evaluated": _verdicts(judgement.evaluated),
            "reference": _verdicts(judgement.reference),
        }
    return result


def _verdicts(found: Verdicts | None) -> Json | None:
    """What the verdicts on one side say together."""
    if found is None:
        return None
    return {
        "fdr": found.fdr,
        "clips": len(found.p),
        "bad": int(found.bad.sum()),
        "proven": int(found.proven.sum()),
        "smallest_findable": found.least_together,
        "some_bad_p_value": found.spoilt.p_value,
        "share": asdict(found.spoilt.share),
        "method": found.method,
        "seed": found.seed,
        "own_groups": list(found.own_groups),
    }


def _verdict_columns(found: Verdicts | None, j: int) -> Json:
    if found is None:
        return {"p": None, "q": None, "verdict": None}
    return {
        "p": float(found.p[j]),
        "q": float(found.q[j]),
        "verdict": BAD if found.bad[j] else GOOD,
    }


def _reference_clips(diagnostics: OTADDiagnostics) -> list[Json]:
    found = diagnostics.judgement.reference if diagnostics.judgement is not None else None
    costs, n = diagnostics.reference_costs, len(diagnostics.reference_files)
    return [
        {
            "file": os.fspath(file),
            "ci": float(costs[i]),
            "cost": float(n * costs[i]),
            **_verdict_columns(found, i),
        }
        for i, file in enumerate(diagnostics.reference_files)
    ]


def _floor(floor: Floor | None, score: float) -> Json | None:
    if floor is None:
        return None
    return {**asdict(floor), "difference": score - floor.mean, "ratio": floor.ratio(score)}


def _quality(diagnostics: OTADDiagnostics, j: int) -> Json:
    """The predicted speech quality of a clip, if it was asked for."""
    if not diagnostics.quality:
        return {}
    return {"quality": {name: column[j] for name, column in diagnostics.quality.items()}}


def _clips(diagnostics: OTADDiagnostics, dimensions: int) -> list[Json]:
    assert diagnostics.transport is not None
    known = diagnostics.transport.shares is not None
    room = _NEAREST_WORK // max(1, len(diagnostics.reference_files) * dimensions) if known else 0
    listed = set(np.argsort(-diagnostics.cj, kind="stable")[:room].tolist())
    flags = diagnostics.flags or [()] * len(diagnostics.files)
    judged = diagnostics.judgement.evaluated if diagnostics.judgement is not None else None
    pairs = diagnostics.evidence.evaluated.column("pair") if diagnostics.evidence else ()
    distances = None if judged is None else diagnostics.distances()  # both or none are quick
    return [
        {
            "file": os.fspath(file),
            "cj": float(diagnostics.cj[j]),
            "cost": float(diagnostics.cost[j]),
            "relative_cost": float(relative),
            "distance": None if distances is None else float(distances[j]),
            **_verdict_columns(judged, j),
            "flags": list(flags[j]),
            "nearest": [
                {"file": os.fspath(partner.file), "share": partner.share}
                for partner in diagnostics.nearest(j, NEAREST)
            ]
            if j in listed
            else None,
            **_quality(diagnostics, j),
            **({"pair": pairs[j]} if pairs else {}),
        }
        for j, (file, relative) in enumerate(
            zip(diagnostics.files, diagnostics.relative_cost, strict=True)
        )
    ]


def _plain(value: Any) -> Any:
    """The value in types of JSON; bytes that are not UTF-8 are escaped."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
