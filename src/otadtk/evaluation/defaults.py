"""Adds what is cheap to an evaluation: its floor, and verdicts on its single clips.

What would take longer than a few seconds is left out, with a line that says how to ask for it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from otadtk.embed import EmbeddingSet
from otadtk.engine import Engine
from otadtk.evaluation.designs import choose_design
from otadtk.evaluation.evaluate import Evaluation, StatisticsRequest, statistics_of
from otadtk.metrics import AudioMetric
from otadtk.metrics.verdicts import Groups
from otadtk.statistics.designs import Design
from otadtk.statistics.judging import forecast_seconds
from otadtk.statistics.verdicts import DEFAULT_FDR

logger = logging.getLogger(__name__)

AFFORDABLE = 10.0
"""Seconds that a default statistic may be expected to take."""
PERMUTATIONS = 99
"""Of a floor that nobody asked for."""
ENOUGH = 10
"""Permuted scores as large as that of the sets after which their number is known well enough."""
_PERMUTATION = 1.2e-7
"""Seconds of a permutation for each pair of clips: the mean over the regimes of
docs/evidence/statistics.md, "Speed". It forecasts, so that the same sets get the same statistics."""


def with_floor(
    evaluation: Evaluation, *, design: Design | None = None, seed: int = 0, engine: Engine
) -> Evaluation:
    """The evaluation with a floor, if that is quick and the clips are known."""
    metric = evaluation.metric
    if not has_quick_floor(metric, evaluation.reference, [evaluation.evaluated]):
        return evaluation
    if design is None:
        design, _ = choose_design(evaluation.reference, evaluation.evaluated)
    found = statistics_of(
        metric,
        evaluation.reference,
        evaluation.evaluated,
        StatisticsRequest(null=PERMUTATIONS, design=design, enough=ENOUGH, seed=seed),
        score=evaluation.score,
        engine=engine,
    )
    return replace(evaluation, statistics=replace(evaluation.statistics, floor=found.floor))


def has_quick_floor(
    metric: AudioMetric, reference: EmbeddingSet, systems: Sequence[EmbeddingSet]
) -> bool:
    """Whether floors of all systems can be computed soon; a line says what hinders that."""
    sides = (reference, *systems)
    if any(side.moments_only for side in sides):
        logger.info("no floor was computed: it needs the reference clips, not their moments")
        return False
    if metric.higher_is_better or not metric.has_floor:
        return False
    if not all(_can_permute(side) for side in sides):
        return False
    pairs = sum(len(reference.files) * len(side.files) for side in systems)
    expected = PERMUTATIONS * _PERMUTATION * pairs
    if expected > AFFORDABLE:
        logger.info(
            "no floor was computed, which would take about %.0f s: --null adds it", expected
        )
    return expected <= AFFORDABLE


def _can_permute(side: EmbeddingSet) -> bool:
    """Whether there are clips enough, and every frame is known to belong to one of them."""
    counted = side.frames is None or sum(side.frame_counts) == len(side.points)
    return counted and len(side.files) >= _LEAST_CLIPS


_LEAST_CLIPS = 10
"""Fewer clips of a side can hardly be told from chance; --null computes their floor too."""


def with_verdicts(
    evaluation: Evaluation,
    *,
    fdr: float | None,
    groups: Groups | None = None,
    seed: int = 0,
) -> Evaluation:
    """The evaluation with verdicts on its clips; without a given ``fdr`` only if that is quick."""
    measurement = evaluation.measurement
    diagnostics = measurement.diagnostics
    if diagnostics is None or diagnostics.evidence is None:
        return evaluation
    n, m = len(evaluation.reference.files), len(evaluation.evaluated.files)
    expected = forecast_seconds(n, m) + forecast_seconds(m, n)
    if fdr is None and expected > AFFORDABLE:
        logger.info(
            "no verdicts on single clips, which would take about %.0f s: --fdr %g adds them",
            expected,
            DEFAULT_FDR,
        )
        return evaluation
    rate = DEFAULT_FDR if fdr is None else fdr
    judged = diagnostics.judged(rate, groups=groups, seed=seed)
    return replace(evaluation, measurement=replace(measurement, diagnostics=judged))
