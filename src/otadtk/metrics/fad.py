"""FAD: the Fréchet Audio Distance."""

from __future__ import annotations

from typing import final

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.shards import frechet_distance_over
from otadtk.distances.subsets import SubsetDistance, frechet_between
from otadtk.metrics.base import Array, AudioMetric, require_two


def compute_fad(embeddings_ref: Array, embeddings_test: Array) -> float:
    """The Fréchet Audio Distance of two sets of embeddings."""
    require_two("FAD", embeddings_ref, embeddings_test)
    return frechet_distance(embeddings_ref, embeddings_test)


@final
class FAD(AudioMetric):
    """The Fréchet Audio Distance."""

    name = "FAD"

    def distance(self, ref: Array, test: Array) -> float:
        """The Fréchet distance of two sets of embeddings."""
        if self.engine is None:
            return compute_fad(ref, test)
        require_two(self.name, ref, test)
        return frechet_distance_over(self.engine, ref, test)

    def between(self, pool: Array) -> SubsetDistance:
        """The Fréchet distance between subsets of a pool."""
        return frechet_between(pool)
