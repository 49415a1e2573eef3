"""FAD: the Fréchet Audio Distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from otadtk.metrics.base import AudioMetric, check_counts
from otadtk.metrics.entry import GoldenValue

if TYPE_CHECKING:
    from otadtk.distances.moments import Moments
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

LEAST_CLIPS = 2
"""A covariance needs two."""


def compute_fad(embeddings_ref: Array, embeddings_test: Array) -> float:
    """The Fréchet Audio Distance of two sets of embeddings.

    FAD = ‖μ_x − μ_y‖² + tr(Σ_x + Σ_y − 2(Σ_x Σ_y)^½), with the covariances of n − 1. Both arrays have one
    clip (or frame) in each row: shapes (N, d) and (M, d). The unit is that of the vectors, squared. It
    is never complex or negative.

    Raises:
        UsageError: Fewer than two rows, arrays of other shapes, or NaN.

    Examples:
        >>> import numpy as np
        >>> from otadtk import compute_fad
        >>> x = np.random.default_rng(0).normal(size=(50, 4))
        >>> round(compute_fad(x, x + 1.0), 6)  # the means are 4 apart, squared
        4.0
    """
    from otadtk.distances.frechet import frechet_distance
    from otadtk.distances.moments import moments

    check_counts(FAD.name, LEAST_CLIPS, embeddings_ref, embeddings_test)
    return frechet_distance(moments(embeddings_ref, "x"), moments(embeddings_test, "y"))


@final
class FAD(AudioMetric):
    """The Fréchet Audio Distance, of the Gaussians fitted to both sets.

    The equation is that of ``compute_fad``. By default it compares the raw vectors of clips; ``frames``
    compares frames, as fadtk does.

    Examples:
        >>> from otadtk import FAD
        >>> FAD("logmel").score("real/", "generated/") > 0
        True
    """

    name = "FAD"
    title = "Fréchet Audio Distance"
    citation = """@inproceedings{kilgour2019fad,
  title     = {Fr\\'echet Audio Distance: A Reference-Free Metric for Evaluating Music Enhancement
               Algorithms},
  author    = {Kilgour, Kevin and Zuluaga, Mauricio and Roblek, Dominik and Sharifi, Matthew},
  booktitle = {Interspeech},
  year      = {2019}
}"""
    accepts = frozenset({"vectors", "frames", "moments"})
    least_clips = LEAST_CLIPS
    has_flag = True

    def distance(self, ref: Array, test: Array) -> float:
        """The Fréchet distance of two sets of embeddings."""
        from otadtk.distances.frechet import frechet_distance

        self._check_counts(ref, test)
        return frechet_distance(self._moments(ref, "x"), self._moments(test, "y"))

    def compare_sets(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> float:
        """The Fréchet distance of two embedded sets, or of moments that files give."""
        from otadtk.distances.frechet import frechet_distance

        x, y = self.points(reference, evaluated)
        self._check_counts(x, y)
        first = reference.moments or self._moments(x, "x")
        second = evaluated.moments or self._moments(y, "y")
        return frechet_distance(first, second)

    def _moments(self, points: Array, name: str) -> Moments:
        from otadtk.distances.distributed.moments import moments_over
        from otadtk.distances.moments import moments

        (adapted,) = self._adapted(points)
        if self.engine.distributed:
            return moments_over(self.engine, adapted, name)
        return moments(adapted, name)

    def between(self, pool: Array) -> SubsetDistance:
        """The Fréchet distance between subsets of a pool."""
        from otadtk.distances.subsets import frechet_between
        from otadtk.metrics.memory import usable_memory

        (points,) = self._adapted(pool)
        return frechet_between(points, max_memory=usable_memory())

    @classmethod
    def compare_vectors(cls, ref: Array, test: Array) -> float | None:
        """FAD of raw vectors."""
        return compute_fad(ref, test)

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value; the tests derive it by other means."""
        return (GoldenValue("FAD", 0.485348471, compute_fad),)
