"""The summary at the top of a report, in words that need no knowledge of the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from otadtk.distances.transport.result import Divergence
from otadtk.encoders.features.measured import network_spec
from otadtk.evaluation.audit import PairAudit, audit_sets
from otadtk.files.names import common_root
from otadtk.files.printable import readable
from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics
from otadtk.metrics.registry import all_metrics
from otadtk.report.clips.table import SILENT
from otadtk.statistics.resampling import SIGNIFICANT, Floor
from otadtk.statistics.spoilt import Spoilt
from otadtk.statistics.verdicts import Verdicts


@dataclass(frozen=True)
class Fact:
    """A line of the provenance table."""

    name: str
    value: str
    code: bool = False
    """Whether the value is set as code, as hashes are."""


@dataclass(frozen=True)
class Summary:
    """The score, what it means, and its provenance."""

    score: float
    model: str
    variant: str
    reference_clips: int
    evaluated_clips: int
    scores: dict[str, float]
    """The other distances by name."""
    verdict: str
    certificate: str
    converged: bool
    notes: tuple[str, ...]
    """Caveats, one sentence each."""
    findings: tuple[tuple[str, str], ...]
    """(finding, clips) of the audit."""
    facts: tuple[Fact, ...]
    spoilt: Spoilt | None = None
    """Whether some clips are spoilt and how many, if verdicts were computed."""


def summarise(
    diagnostics: OTADDiagnostics,
    evidence: Evidence,
    scores: Mapping[str, float],
    floor: Floor | None,
    audit: PairAudit,
) -> Summary:
    """The summary of a scored pair of sets; FAD and KAD are computed if they are missing."""
    # raw vectors of the encoder, as --fad and --kad use by default
    raw = slice(network_spec(evidence.encoder.spec).dim or None)  # 0 dimensions stand for any
    x, y = evidence.reference.vectors[:, raw], evidence.evaluated.vectors[:, raw]
    others = dict(scores)
    for _, metric in all_metrics():
        if metric.name not in others and min(len(x), len(y)) >= metric.least_clips:
            score = metric.compare_vectors(x, y)
            if score is not None:
                others[metric.name] = score
    result, found = diagnostics.transport, _clip_verdicts(diagnostics)
    return Summary(
        score=diagnostics.score,
        model=diagnostics.model_name,
        variant=diagnostics.variant,
        reference_clips=len(x),
        evaluated_clips=len(y),
        scores={name: value for name, value in others.items() if np.isfinite(value)},
        verdict=_headline(diagnostics, floor),
        certificate=_certificate(diagnostics),
        converged=result is None or result.converged,
        notes=(*(result.notes if result is not None else ()), *_cheap_silence(diagnostics)),
        findings=tuple(_findings(evidence, audit)),
        facts=_facts(diagnostics, evidence),
        spoilt=found.spoilt if found is not None else None,
    )


def _cheap_silence(diagnostics: OTADDiagnostics) -> list[str]:
    """A sentence if silent clips cost little, since the ranking by cost does not show them."""
    order = np.argsort(-diagnostics.cj, kind="stable")
    ranks = [k for k, j in enumerate(order.tolist(), 1) if SILENT in diagnostics.flags[j]]
    if not ranks or np.median(ranks) <= len(order) / 2:
        return []
    clips = "The silent clip costs" if len(ranks) == 1 else f"The {len(ranks)} silent clips cost"
    other = " --variant artifact does." if diagnostics.model_name == "yamnet" else ""
    return [
        f"{clips} little by this metric (rank {ranks[0]:,} of {len(order):,} at worst): "
        f"the cost alone does not find silence.{other}"
    ]


def audit_evidence(evidence: Evidence) -> PairAudit:
    """The audit of the two sets that were scored."""
    spec = evidence.encoder.spec
    minimum = spec.minimum_samples / spec.sample_rate
    return audit_sets(evidence.reference, evidence.evaluated, minimum_seconds=minimum)


def _findings(evidence: Evidence, audit: PairAudit) -> list[tuple[str, str]]:
    """(finding, clips) of the audit, the evaluated set first."""
    lines = audit.warnings()
    for side in (evidence.evaluated, evidence.reference):
        root = f"{common_root(side.files)}/"
        lines = [line.replace(root, "") for line in lines]
    parts = [line.partition(": ") for line in lines]
    first = (" is silent", " are silent")
    parts.sort(key=lambda part: (" evaluated " not in part[0], not part[0].endswith(first)))
    return [
        (readable(f"{found[:1].upper()}{found[1:]}"), readable(where)) for found, _, where in parts
    ]


def _clip_verdicts(diagnostics: OTADDiagnostics) -> Verdicts | None:
    """The verdicts on the evaluated clips, unless the reference is too small for any."""
    found = diagnostics.judgement.evaluated if diagnostics.judgement is not None else None
    return found if found is not None and found.possible else None


def _found(diagnostics: OTADDiagnostics) -> str:
    """What the verdicts on single clips say, as sentences."""
    judgement = diagnostics.judgement
    found = _clip_verdicts(diagnostics)
    if judgement is None or found is None:
        return ""
    text = found.sentence()
    if found.found and not found.bad.any():
        text += f", but some of them are spoilt (p\u00a0=\u00a0{found.spoilt.p_value:.2g})"
    missed = judgement.reference
    if missed is not None and missed.bad.any():
        count = int(missed.bad.sum())
        verb = "is" if count == 1 else "are"
        text += f"; {count} of {len(missed.p)} reference clips {verb} missed by the evaluated set"
    return f"{text[:1].upper()}{text[1:]}."


def _headline(diagnostics: OTADDiagnostics, floor: Floor | None) -> str:
    """What the score and the verdicts mean; first what says more."""
    found, verdicts = _found(diagnostics), _clip_verdicts(diagnostics)
    if floor is None or floor.p_value <= SIGNIFICANT or verdicts is None or not verdicts.found:
        return " ".join(filter(None, [*_about_score(diagnostics, floor), found]))
    return (
        f"{found} The score does not show this: it averages over all clips, and a few bad ones hardly "
        f"move it. Two samples of one distribution score as much at this size "
        f"(p\u00a0=\u00a0{floor.p_value:.2g}). {_about_score(diagnostics, floor)[1]}"
    ).rstrip()


def _about_score(diagnostics: OTADDiagnostics, floor: Floor | None) -> tuple[str, str]:
    """What the score means, and how much of the cost the worst clips carry."""
    costs = np.sort(diagnostics.cj)[::-1]
    few = max(1, round(0.05 * len(costs)))
    clips = "clip carries" if few == 1 else "clips carry"
    share = 100 * costs[:few].sum() / costs.sum() if costs.sum() > 0 else 0.0
    worst = f"The worst {few} {clips} {share:.0f} % of the transport cost."
    if few == len(costs):
        worst = ""
    if floor is None:
        return (
            "Two samples of one distribution do not score 0 at this size: compare the score with "
            "its floor (--null), or with another score at the same size."
        ), worst
    above = diagnostics.score - floor.mean
    if floor.p_value > SIGNIFICANT:
        return (
            f"The score is within what two samples of one distribution show at this size "
            f"(p\u00a0=\u00a0{floor.p_value:.2g}): these clips cannot tell the sets apart."
        ), worst
    return (
        f"The score lies {above:.4f} above what two samples of one distribution show at this size "
        f"(p\u00a0=\u00a0{floor.p_value:.2g}): the sets differ."
    ), worst


def _certificate(diagnostics: OTADDiagnostics) -> str:
    """How exact the score is, by the solver."""
    result = diagnostics.transport
    if not isinstance(result, Divergence):
        return result.describe() if result is not None else ""
    regimes = {
        "smooth": "ε is large enough for a smooth plan: each clip draws on many references.",
        "sharp": "ε is small against the costs: each clip draws on few references.",
        "legacy": f"The arithmetic of {result.compat} was reproduced.",
    }
    sure = (
        f"The solver converged: the score is exact to ±{result.error_bar:.1g}"
        if result.converged
        else f"The solver has not converged: the score may be off by {result.error_bar:.1g}"
    )
    how = f"duality gap {max(result.xy.gap, 0.0):.0e}, {result.xy.iterations} iterations"
    return f"{sure} ({how}). {regimes[result.xy.regime]}"


def _facts(diagnostics: OTADDiagnostics, evidence: Evidence) -> tuple[Fact, ...]:
    spec, card, settings = evidence.encoder.spec, evidence.ground.card, evidence.settings
    sides = evidence.reference, evidence.evaluated
    lengths = [
        f"{len(side.files)} clips" + (f", {_duration(seconds)}" if seconds else "")
        for side in sides
        for seconds in [sum(audit.seconds for audit in side.audits if audit is not None)]
    ]
    epsilon = f"{settings.epsilon:g}"
    if settings.epsilon_scale != "absolute":
        epsilon += f" × {settings.epsilon_scale.replace('_', ' ')}"
    facts = [
        Fact("Encoder", f"{spec.name}: {spec.summary}"),
        Fact("Encoder fingerprint", spec.fingerprint, code=True),
        *(Fact(f"Weights {file.name}", file.digest, code=True) for file in spec.weights),
        Fact("Preprocessing", spec.preprocessing),
        Fact("Ground metric", diagnostics.variant),
    ]
    if card is not None:
        facts.append(Fact("Adapter", card.content or card.fingerprint, code=True))
        if evidence.ground.file is not None:
            facts.append(Fact("Adapter file", str(evidence.ground.file), code=True))
        facts.append(Fact("Adapter trained on", card.data))
    facts += [
        Fact("Coupling", f"{settings.coupling}, {settings.divergence}, ε = {epsilon}"),
        Fact("Reference", lengths[0]),
        Fact("Evaluated", lengths[1]),
    ]
    return tuple(facts)


def _duration(seconds: float) -> str:
    """Hours, minutes or seconds, whichever reads best."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.1f} s"
