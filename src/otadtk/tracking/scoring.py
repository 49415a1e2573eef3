"""Scores one set with all that a later comparison needs, as the document of a run."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otadtk.documents.document import metric_record, score_document
from otadtk.embed import EmbeddingSet
from otadtk.evaluation.audit import PairAudit
from otadtk.evaluation.defaults import with_floor, with_verdicts
from otadtk.evaluation.evaluate import Evaluation, evaluate
from otadtk.evaluation.run import Provenance, ScoreRun
from otadtk.metrics import AudioMetric
from otadtk.statistics.designs import Design
from otadtk.tracking.record import NO_PROTOCOL, choices_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Reference:
    """The reference of all runs, embedded once, and the metric that compares with it."""

    metric: AudioMetric
    path: str | Path
    embedded: EmbeddingSet

    @property
    def choices(self) -> dict[str, str]:
        """What decides a score beside the clips, as records have it."""
        compared = "clips" if self.embedded.frames is None else "frames"
        return choices_of(metric_record(self.metric), compared, NO_PROTOCOL)

    def evaluate(
        self,
        evaluated: EmbeddingSet,
        *,
        interval: bool = True,
        design: Design | None = None,
        seed: int = 0,
    ) -> Evaluation:
        """Score and interval, with floor and verdicts where these are quick."""
        found = evaluate(self.metric, self.embedded, evaluated, interval=interval, seed=seed)
        if found.outliers is not None:
            logger.warning("%s", found.outliers.note(self.metric.name))
        found = with_floor(found, design=design, seed=seed, engine=self.metric.engine)
        return with_verdicts(found, fdr=None, seed=seed)

    def document(
        self, path: str | Path, evaluation: Evaluation, audit: PairAudit, made: Provenance
    ) -> dict[str, Any]:
        """The document of an evaluation of the clips at ``path``."""
        return score_document(ScoreRun(self.path, path, (evaluation,), audit, made))
