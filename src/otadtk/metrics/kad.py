"""KAD: the Kernel Audio Distance."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, final

from otadtk.distances.kernel import BandwidthRule, KernelDistance, KernelName, kernel_distance
from otadtk.distances.subsets import SubsetDistance, kernel_between
from otadtk.distances.tiles import kernel_distance_over
from otadtk.embed import EmbeddingSet
from otadtk.metrics.base import (
    Array,
    AudioMetric,
    EmbeddingOptions,
    Measurement,
    refuse_moments,
    require_two,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger(__name__)


def compute_kad(
    embeddings_ref: Array,
    embeddings_test: Array,
    bandwidth: float | BandwidthRule | None = None,
    kernel: KernelName = "gaussian",
    scale: bool = True,
) -> float:
    """The Kernel Audio Distance of two sets of embeddings, as kadtk defines it.

    ``bandwidth`` is a number, or whose median distance to take: "eval" (default), "ref", "pooled".
    """
    require_two("KAD", embeddings_ref, embeddings_test)
    rule = "eval" if bandwidth is None else bandwidth
    distance = kernel_distance(
        embeddings_ref, embeddings_test, bandwidth=rule, kernel=kernel, scale=scale
    )
    return distance.value


@final
class KAD(AudioMetric):
    """The Kernel Audio Distance; ``bandwidth`` is a number, "eval" (default), "ref" or "pooled"."""

    name = "KAD"
    unbiased = True

    def __init__(
        self,
        model: str = "yamnet",
        *,
        bandwidth: float | BandwidthRule = "eval",
        **options: Unpack[EmbeddingOptions],
    ) -> None:
        super().__init__(model, **options)
        self.bandwidth = bandwidth

    def distance(self, ref: Array, test: Array) -> float:
        """The kernel distance of two sets of embeddings."""
        return self._kernel_distance(ref, test).value

    def between(self, pool: Array) -> SubsetDistance:
        """The kernel distance between subsets of a pool, each pair with its own median."""
        return kernel_between(pool, self.bandwidth)

    def measure(
        self, reference: EmbeddingSet, evaluated: EmbeddingSet, *, name: str = ""
    ) -> Measurement:
        """The kernel distance and its bandwidth."""
        result = self._kernel_distance(*self.points(reference, evaluated), name)
        return Measurement(result.value, kernel=result)

    def points(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> tuple[Array, Array]:
        """Clip vectors or frames of both sets, but not moments."""
        refuse_moments(self.name, reference, evaluated)
        return super().points(reference, evaluated)

    def _kernel_distance(self, ref: Array, test: Array, name: str = "") -> KernelDistance:
        require_two(self.name, ref, test)
        if self.engine is None:
            result = kernel_distance(ref, test, bandwidth=self.bandwidth)
        else:
            result = kernel_distance_over(self.engine, ref, test, bandwidth=self.bandwidth)
        whose = f"{name}: " if name else ""
        logger.info("%sKAD bandwidth %.6g (%s)", whose, result.bandwidth, result.bandwidth_rule)
        return result
