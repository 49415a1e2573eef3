"""The document of a result of the Python API, and the texts made from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otadtk.documents.document import comparison_document, score_document, write_document
from otadtk.documents.methods import bibtex, latex, methods_paragraph
from otadtk.embed import EmbeddingSet
from otadtk.evaluation.audit import audit_sets
from otadtk.evaluation.compare import Comparison
from otadtk.evaluation.evaluate import Evaluation
from otadtk.evaluation.run import ComparisonRun, Provenance, ScoreRun
from otadtk.files.names import common_root


@dataclass(frozen=True)
class ResultDocument:
    """The JSON document of an evaluation or a comparison, as the commands write it."""

    content: dict[str, Any]

    @classmethod
    def of(cls, result: Evaluation | Comparison) -> ResultDocument:
        """The document of a result; the clips are audited for it."""
        if isinstance(result, Comparison):
            return cls(comparison_document(_comparison_run(result)))
        return cls(score_document(_score_run(result)))

    def methods(self, *, as_latex: bool = False) -> str:
        """The methods paragraph."""
        paragraph = methods_paragraph(self.content)
        return latex(paragraph) if as_latex else paragraph

    def bibtex(self) -> str:
        """The references of the paragraph."""
        return bibtex(self.content)

    def write(self, path: Path) -> Path:
        """Write the document; gives its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_document(self.content, path)
        return path


def _score_run(evaluation: Evaluation) -> ScoreRun:
    spec, floor = evaluation.metric.spec, evaluation.statistics.floor
    minimum = spec.minimum_samples / spec.sample_rate if spec.sample_rate else 0.0
    sides = evaluation.reference, evaluation.evaluated
    return ScoreRun(
        _place(evaluation.reference),
        _place(evaluation.evaluated),
        (evaluation,),
        audit_sets(*sides, minimum_seconds=minimum),
        Provenance(seed=floor.seed if floor is not None else 0, device=evaluation.metric.device),
    )


def _comparison_run(comparison: Comparison) -> ComparisonRun:
    """Without an audit: a comparison does not keep the clips of its systems."""
    names = {system.name: system.name for system in comparison.systems}
    made = Provenance(seed=comparison.seed, device=comparison.metric.device)
    return ComparisonRun("", names, (comparison,), {}, made)


def _place(side: EmbeddingSet) -> Path:
    return common_root(side.files) if side.files else Path()
