"""The metrics that the listening experiment puts side by side, each with its ground metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from otadtk.adapter import VARIANTS, known_variants
from otadtk.distances.subsets import SubsetDistance
from otadtk.distances.transport.couplings import transport
from otadtk.encoders import get_spec
from otadtk.errors import UsageError
from otadtk.experiments.data import Points
from otadtk.experiments.listening.system_distances import SetDistance
from otadtk.metrics.base import AudioMetric
from otadtk.metrics.otad import OTAD
from otadtk.metrics.registry import get_metric

_OTHERS = ("FAD", "KAD")
"""Metrics of the raw vectors, beside OTAD in all its variants."""


@dataclass(frozen=True)
class Measure:
    """A metric by name, on a model, with a variant of the ground metric."""

    model: str
    metric: str
    variant: str = "raw"

    def load(self) -> AudioMetric:
        """The metric itself; its adapter is read now.

        OTAD's default ε suits vectors of unit norm and adapters; for other vectors, as those of
        log-mel, it is a multiple of the median cost.
        """
        if self.compares_clips and self.variant == "raw" and not get_spec(self.model).unit_norm:
            return OTAD(self.model, variant=self.variant, epsilon_scale="median_cost")
        return get_metric(self.metric)(self.model, variant=self.variant)

    @property
    def compares_clips(self) -> bool:
        """Whether the metric says how far two single clips are apart."""
        return self.metric not in _OTHERS


def chosen_measures(models: Sequence[str], variants: Sequence[str] | None) -> list[Measure]:
    """OTAD in every variant, FAD and KAD of each model; the log-mel model is one of the models.

    Without ``variants``, all that are known of a model.
    """
    for variant in variants or ():
        if variant not in VARIANTS:
            raise UsageError(f"Unknown variant {variant!r}; choose from {', '.join(VARIANTS)}.")
    found: list[Measure] = []
    for model in models:
        known = ["raw", *known_variants(model)]
        own = [variant for variant in known if variants is None or variant in variants]
        found += [Measure(model, "OTAD", variant) for variant in own]
        found += [Measure(model, metric) for metric in _OTHERS]
    for variant in variants or ():
        if all(measure.variant != variant for measure in found if measure.compares_clips):
            raise UsageError(f"None of {', '.join(models)} has the variant {variant!r}.")
    return found


def ground_points(metric: AudioMetric, vectors: Points) -> Points:
    """Vectors as the ground metric sees them."""
    (points,) = metric.ground.adapt([vectors], metric.device)
    found: Points = points.cpu().numpy().astype(np.float32)
    return found


def set_distance(metric: AudioMetric, vectors: Points) -> SetDistance:
    """The metric between subsets of a pool of vectors."""
    return SetDistance(
        _precise(metric, vectors), quick=metric.between(vectors), fewest=metric.least_clips
    )


def _precise(metric: AudioMetric, vectors: Points) -> SubsetDistance:
    """The metric's own distance; of OTAD without the notes that it logs for every small set."""
    if isinstance(metric, OTAD):
        (points,) = metric.ground.adapt([vectors], metric.device)
        settings = metric.settings
        return lambda i, j: transport(points[i], points[j], settings).value
    return lambda i, j: metric.distance(vectors[i], vectors[j])
