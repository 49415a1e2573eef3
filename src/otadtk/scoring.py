"""Scores two sets of clips by one metric or by several, from one set of embeddings each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from otadtk.embed import EmbeddingSet
from otadtk.metrics import AudioMetric, Measurement, PathLike


@dataclass(frozen=True)
class Evaluation:
    """What one metric says of two sets."""

    metric: AudioMetric
    measurement: Measurement
    reference: EmbeddingSet
    evaluated: EmbeddingSet
    seconds: float
    """Wall-clock time of the distance, without the embedding."""

    @property
    def score(self) -> float:
        """The distance."""
        return self.measurement.score


def embed_once(
    metrics: Sequence[AudioMetric], place: PathLike, *, workers: int | None = None
) -> list[EmbeddingSet]:
    """The embeddings of a place for each metric; metrics of the same features share one set."""
    sets: dict[str, EmbeddingSet] = {}
    for metric in metrics:
        if metric.spec.fingerprint not in sets:
            sets[metric.spec.fingerprint] = metric.embed(place, workers=workers)
    return [sets[metric.spec.fingerprint] for metric in metrics]


def evaluate(metric: AudioMetric, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Evaluation:
    """The metric's evaluation of two embedded sets."""
    started = time.perf_counter()
    measurement = metric.measure(reference, evaluated)
    seconds = time.perf_counter() - started
    return Evaluation(metric, measurement, reference, evaluated, seconds)
