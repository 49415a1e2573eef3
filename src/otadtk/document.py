"""One JSON document of a run: results, statistics, certificates, clips, audit and provenance."""

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
from otadtk.atomic import replacing
from otadtk.audit import PairAudit
from otadtk.comparison import Comparison
from otadtk.diagnosis import OTADDiagnostics
from otadtk.distances.exact import ExactTransport
from otadtk.distances.kernel import KernelDistance
from otadtk.distances.result import Divergence
from otadtk.distances.transport import TransportResult
from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.metrics import KAD, OTAD, AudioMetric
from otadtk.resampling import Floor
from otadtk.scoring import Evaluation

SCHEMA = "otadtk-document/1"
SCHEMA_FILE = Path(__file__).parent / "schemas" / "document-1.json"
NEAREST = 3
"""Nearest references that are listed for a clip."""
_NEAREST_WORK = 4_000_000_000
"""Coordinates that may be read for nearest references; beyond it only the worst clips get them."""
_LIBRARIES = ("numpy", "scipy", "torch", "POT", "soundfile", "soxr", "safetensors")

Json = dict[str, Any]


def score_document(
    evaluations: Sequence[Evaluation],
    audit: PairAudit | None,
    *,
    reference: str | Path,
    evaluated: str | Path,
    command: str | None = None,
    seed: int = 0,
    clips: bool = True,
) -> Json:
    """The document of two sets scored by one metric or several, with or without single clips."""
    first = evaluations[0]
    sets = {
        "reference": _set(reference, first.reference),
        "evaluated": _set(evaluated, first.evaluated),
    }
    results = [_result(evaluation, clips=clips) for evaluation in evaluations]
    device = first.metric.device
    return {
        **_head("score", command, seed, device),
        "sets": sets,
        "results": results,
        "audit": audit.to_dict() if audit is not None else None,
    }


def audit_document(
    metric: AudioMetric,
    sets: Sequence[EmbeddingSet],
    audit: PairAudit,
    *,
    places: Sequence[str | Path],
    command: str | None = None,
) -> Json:
    """The document of a reference and an evaluated set that were audited and not scored."""
    names = ("reference", "evaluated")
    return {
        **_head("audit", command, 0, metric.device),
        "sets": {
            name: _set(*pair)
            for name, pair in zip(names, zip(places, sets, strict=True), strict=True)
        },
        "results": [],
        "audit": audit.to_dict(),
    }


def comparison_document(
    comparisons: Sequence[Comparison],
    *,
    reference: str | Path,
    systems: Mapping[str, str | Path],
    audits: Mapping[str, PairAudit],
    command: str | None = None,
    seed: int = 0,
) -> Json:
    """The document of several systems compared by one metric or several."""
    results = [
        {
            **_metric(comparison.metric),
            "reference_clips": comparison.reference_clips,
            "paired": comparison.paired,
            "systems": [
                {
                    "name": system.name,
                    "path": os.fspath(systems[system.name]),
                    "clips": system.clips,
                    "score": system.score,
                    "interval": asdict(system.interval),
                    "certificate": _certificate(system.diagnostics.transport)
                    if system.diagnostics is not None and system.diagnostics.transport is not None
                    else None,
                    "bandwidth": _bandwidth(system.kernel) if system.kernel is not None else None,
                }
                for system in comparison.systems
            ],
            "differences": [
                {"first": first, "second": second, **asdict(found)}
                for (first, second), found in comparison.differences.items()
            ],
            "notes": comparison.notes(),
        }
        for comparison in comparisons
    ]
    device = comparisons[0].metric.device
    return {
        **_head("comparison", command, seed, device),
        "reference": os.fspath(reference),
        "results": results,
        "audits": {name: audit.to_dict() for name, audit in audits.items()},
    }


def to_text(document: Json) -> str:
    """The document as JSON in ASCII; what is not finite is null, what is no text is escaped."""
    return json.dumps(_plain(document), indent=1, allow_nan=False) + "\n"


def write_document(document: Json, path: Path) -> None:
    """Write the document, whole or not at all."""
    with replacing(path) as file:
        file.write(to_text(document).encode())


def _head(kind: str, command: str | None, seed: int, device: str) -> Json:
    return {
        "schema": SCHEMA,
        "kind": kind,
        "provenance": {
            "otadtk": __version__,
            "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "command": command,
            "seed": seed,
            "device": device,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "threads": os.cpu_count(),
            "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
    }


def _set(path: str | Path, side: EmbeddingSet) -> Json:
    return {
        "path": os.fspath(path),
        "clips": len(side.files),
        "points": len(side.points),
        "compared": "clips" if side.frames is None else "frames",
        "encoded": side.encoded,
        "left_out": [{"file": os.fspath(c.path), "reason": c.reason} for c in side.bad],
        "note": side.note,
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


def _metric(metric: AudioMetric) -> Json:
    """What was computed, and through which features."""
    described: Json = {"metric": metric.name, "model": _model(metric.spec), "settings": {}}
    if isinstance(metric, OTAD):
        card = metric.card
        described["settings"] = {"variant": metric.variant, **asdict(metric.settings)}
        described["adapter"] = None
        if card is not None:
            facts = ("encoder", "variant", "content", "origin", "licence")
            described["adapter"] = {name: getattr(card, name) for name in facts}
    elif isinstance(metric, KAD):
        described["settings"] = {"bandwidth": metric.bandwidth}
    return described


def _result(evaluation: Evaluation, *, clips: bool) -> Json:
    found = evaluation.statistics
    result = {
        **_metric(evaluation.metric),
        "score": evaluation.score,
        "seconds": evaluation.seconds,
        "statistics": {
            "floor": _floor(found.floor, evaluation.score),
            "interval": None if found.interval is None else asdict(found.interval),
            "limit": None if found.limit is None else asdict(found.limit),
        },
        "notes": evaluation.notes(),
    }
    if evaluation.measurement.kernel is not None:
        result["bandwidth"] = _bandwidth(evaluation.measurement.kernel)
    diagnostics = evaluation.measurement.diagnostics
    if diagnostics is not None and diagnostics.transport is not None:
        result["certificate"] = _certificate(diagnostics.transport)
    if clips and diagnostics is not None and diagnostics.transport is not None:
        result["clips"] = _clips(diagnostics, evaluation.evaluated.vectors.shape[1])
        costs = zip(diagnostics.reference_files, diagnostics.reference_costs, strict=True)
        result["reference_clips"] = [{"file": os.fspath(f), "cost": float(c)} for f, c in costs]
    return result


def _bandwidth(kernel: KernelDistance) -> Json:
    return {"sigma": kernel.bandwidth, "rule": kernel.bandwidth_rule}


def _floor(floor: Floor | None, score: float) -> Json | None:
    if floor is None:
        return None
    return {**asdict(floor), "difference": score - floor.mean, "ratio": floor.ratio(score)}


def _certificate(result: TransportResult) -> Json:
    facts: Json = {
        "description": result.describe(),
        "converged": result.converged,
        "notes": list(result.notes),
    }
    if isinstance(result, Divergence):
        cross = result.xy
        facts.update(
            epsilon=result.epsilon,
            epsilon_scale=result.epsilon_scale,
            error_bar=result.error_bar,
            duality_gap=cross.gap,
            marginal_error=cross.row_error + cross.column_error,
            iterations=cross.iterations,
            regime=cross.regime,
            terms={name: getattr(result, name).value for name in ("xy", "xx", "yy")},
        )
    elif isinstance(result, ExactTransport):
        facts["duality_gap"] = result.gap
    return facts


def _clips(diagnostics: OTADDiagnostics, dimensions: int) -> list[Json]:
    assert diagnostics.transport is not None
    known = diagnostics.transport.shares is not None
    room = _NEAREST_WORK // max(1, len(diagnostics.reference_files) * dimensions) if known else 0
    listed = set(np.argsort(-diagnostics.cj, kind="stable")[:room].tolist())
    flags = diagnostics.flags or [()] * len(diagnostics.files)
    return [
        {
            "file": os.fspath(file),
            "cj": float(diagnostics.cj[j]),
            "relative_cost": float(relative),
            "flags": list(flags[j]),
            "nearest": [
                {"file": os.fspath(partner.file), "share": partner.share}
                for partner in diagnostics.nearest(j, NEAREST)
            ]
            if j in listed
            else None,
        }
        for j, (file, relative) in enumerate(
            zip(diagnostics.files, diagnostics.relative_cost, strict=True)
        )
    ]


def _plain(value: Any) -> Any:
    """The same in what JSON has."""
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
