"""The record of a run. The JSON document and the page show it and compute nothing again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from otadtk.evaluation.audit import PairAudit
from otadtk.evaluation.compare import Comparison
from otadtk.evaluation.evaluate import Evaluation
from otadtk.metrics.diagnostics import OTADDiagnostics

PathLike = str | Path


@dataclass(frozen=True)
class UsedProtocol:
    """The protocol that a run followed."""

    name: str
    """With other settings than its own it is "changed from …"."""
    version: str
    tool: str
    changed: tuple[str, ...] = ()
    """The options that replaced settings of the protocol."""


@dataclass(frozen=True)
class Provenance:
    """The command, seed and device of a run, and the protocol that it followed."""

    command: str | None = None
    """The command line."""
    seed: int = 0
    device: str = "cpu"
    protocol: UsedProtocol | None = None


@dataclass(frozen=True, eq=False)
class ScoreRun:
    """Two sets, audited once and scored by one metric or several."""

    reference: PathLike
    evaluated: PathLike
    evaluations: tuple[Evaluation, ...]
    audit: PairAudit
    provenance: Provenance

    def with_costs(self) -> tuple[Evaluation, OTADDiagnostics] | None:
        """The first evaluation with costs of single clips, and its diagnostics."""
        for evaluation in self.evaluations:
            if evaluation.measurement.diagnostics is not None:
                return evaluation, evaluation.measurement.diagnostics
        return None

    def other_scores(self, shown: Evaluation) -> dict[str, float]:
        """The scores of the other metrics, by name; of some metrics several."""
        scores: dict[str, float] = {}
        for other in self.evaluations:
            name, values = other.metric.label, other.measurement.values
            if other is not shown:
                scores |= {f"{name} {value}": found for value, found in values.items()}
                scores |= {} if values else {name: other.score}
        return scores

    def other_findings(self, shown: Evaluation) -> dict[str, list[str]]:
        """What the other metrics say beside their scores, by name and direction."""
        return {
            f"{other.label}, {other.metric.direction()}": other.details()
            for other in self.evaluations
            if other is not shown
        }


@dataclass(frozen=True, eq=False)
class ComparisonRun:
    """Several systems, audited once and compared by one metric or several."""

    reference: PathLike
    systems: Mapping[str, PathLike]
    comparisons: tuple[Comparison, ...]
    audits: Mapping[str, PairAudit]
    provenance: Provenance
