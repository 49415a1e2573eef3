"""What the numbers say, in words that need no knowledge of the solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from otadtk.audit import audit_sets
from otadtk.diagnosis import Evidence, OTADDiagnostics
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.result import Divergence
from otadtk.encoders.signal import inner_spec
from otadtk.report.content import readable
from otadtk.report.tables import common_root
from otadtk.resampling import Floor

_CHANCE = 0.05
"""p-values above it are taken for chance."""


@dataclass(frozen=True)
class Fact:
    """A line of the table of provenance."""

    name: str
    value: str
    code: bool = False
    """Whether the value is a hash or the like."""


@dataclass(frozen=True)
class Scale:
    """A linear axis of a drawing: from a value to a place between 0 and ``length``."""

    low: float
    high: float
    length: float

    @classmethod
    def around(cls, values: Sequence[float], length: float, margin: float = 0.06) -> Scale:
        """An axis that shows all values with some room beside them."""
        low, high = min(values), max(values)
        room = (high - low or abs(high) or 1.0) * margin
        return cls(low - room, high + room, length)

    def at(self, value: float) -> float:
        """The place of a value."""
        return round((value - self.low) / (self.high - self.low) * self.length, 2)


@dataclass(frozen=True)
class Summary:
    """The head of the page."""

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
    """What a reader of the number should know, one sentence each."""
    findings: tuple[tuple[str, str], ...]
    """What the audit found, and in which clips."""
    facts: tuple[Fact, ...]


def summarise(
    diagnostics: OTADDiagnostics,
    evidence: Evidence,
    scores: Mapping[str, float],
    floor: Floor | None,
) -> Summary:
    """The summary of a scored pair of sets; FAD and KAD are computed where they are missing."""
    inner = inner_spec(evidence.encoder.spec)
    # FAD and KAD stand on the encoder's own vectors, as --fad and --kad do
    own = slice(inner.dim if inner is not None else None)
    x, y = evidence.reference.vectors[:, own], evidence.evaluated.vectors[:, own]
    others = dict(scores)
    if min(len(x), len(y)) >= 2:
        others.setdefault("FAD", frechet_distance(x, y))
        others.setdefault("KAD", kernel_distance(x, y).value)
    result = diagnostics.transport
    return Summary(
        score=diagnostics.score,
        model=diagnostics.model_name,
        variant=diagnostics.variant,
        reference_clips=len(x),
        evaluated_clips=len(y),
        scores={name: value for name, value in others.items() if np.isfinite(value)},
        verdict=_verdict(diagnostics, floor),
        certificate=_certificate(diagnostics),
        converged=result is None or result.converged,
        notes=(*(result.notes if result is not None else ()), *_unheard(diagnostics)),
        findings=tuple(_findings(evidence)),
        facts=_facts(diagnostics, evidence),
    )


def _unheard(diagnostics: OTADDiagnostics) -> list[str]:
    """A sentence where silent clips are cheap: who reads the worst clips alone would miss them."""
    order = np.argsort(-diagnostics.cj, kind="stable")
    ranks = [k for k, j in enumerate(order.tolist(), 1) if "silent" in diagnostics.flags[j]]
    if not ranks or np.median(ranks) <= len(order) / 2:
        return []
    clips = "The silent clip costs" if len(ranks) == 1 else f"The {len(ranks)} silent clips cost"
    other = " --variant artifact does." if diagnostics.model_name == "yamnet" else ""
    return [
        f"{clips} little by this metric (rank {ranks[0]:,} of {len(order):,} at worst): "
        f"the cost alone does not find silence.{other}"
    ]


def _findings(evidence: Evidence) -> list[tuple[str, str]]:
    """What the audit says of the two sets, the evaluated one first: what it found, and where."""
    spec = evidence.encoder.spec
    audit = audit_sets(
        *(evidence.reference, evidence.evaluated),
        minimum_seconds=spec.minimum_samples / spec.sample_rate,
    )
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


def _verdict(diagnostics: OTADDiagnostics, floor: Floor | None) -> str:
    """What the score says of the sets, and how the cost is spread over the clips."""
    costs = np.sort(diagnostics.cj)[::-1]
    few = max(1, round(0.05 * len(costs)))
    clips = "clip carries" if few == 1 else "clips carry"
    share = 100 * costs[:few].sum() / costs.sum() if costs.sum() > 0 else 0.0
    spread = f"The worst {few} {clips} {share:.0f} % of the transport cost."
    if few == len(costs):
        spread = ""
    if floor is None:
        return (
            "Two samples of one distribution do not score 0 at this size: hold the score against "
            f"its floor (--null), or against another score at the same size. {spread}"
        )
    above = diagnostics.score - floor.mean
    if floor.p_value > _CHANCE:
        return (
            f"The score is within what two samples of one distribution show at this size "
            f"(p\u00a0=\u00a0{floor.p_value:.2g}): these clips cannot tell the sets apart. {spread}"
        )
    return (
        f"The score lies {above:.4f} above what two samples of one distribution show at this size "
        f"(p\u00a0=\u00a0{floor.p_value:.2g}): the sets differ. {spread}"
    )


def _certificate(diagnostics: OTADDiagnostics) -> str:
    """How sure the solver is of the score."""
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
    spec, card, settings = evidence.encoder.spec, evidence.card, evidence.settings
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
