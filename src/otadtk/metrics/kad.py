"""KAD: the Kernel Audio Distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.metrics.base import AudioMetric, MetricOptions, check_counts
from otadtk.metrics.entry import GoldenValue, Measurement, Option, positive_float

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from otadtk.distances.kernel import BandwidthRule, KernelDistance, KernelName
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

LEAST_CLIPS = 2
"""A pair needs two."""
_RULES = {
    "eval": "the median distance within the evaluated set",
    "ref": "the median distance within the reference",
    "pooled": "the median distance within both sets",
}


def compute_kad(
    embeddings_ref: Array,
    embeddings_test: Array,
    bandwidth: float | BandwidthRule | None = None,
    kernel: KernelName = "gaussian",
    scale: bool = True,
) -> float:
    """The Kernel Audio Distance of two sets of embeddings, as kadtk defines it.

    KAD = 100 [mean k(x, x′) + mean k(y, y′) − 2 mean k(x, y)] over different clips, an unbiased squared
    MMD: it is about 0 for sets of one source and may be below it. Without ``scale`` the factor 100 is
    left out. Both arrays have one clip in each row: shapes (N, d) and (M, d).

    ``bandwidth`` is a number, or whose median distance to take: "eval" (default), "ref", "pooled".
    ``kernel`` is "gaussian", "iq" or "imq".

    Raises:
        UsageError: Fewer than two rows, arrays of other shapes, NaN, or a bandwidth of 0.

    Examples:
        >>> import numpy as np
        >>> from otadtk import compute_kad
        >>> x = np.random.default_rng(0).normal(size=(50, 4))
        >>> compute_kad(x, x + 1.0) > compute_kad(x, x + 0.5)
        True
    """
    from otadtk.distances.kernel import kernel_distance

    check_counts(KAD.name, LEAST_CLIPS, embeddings_ref, embeddings_test)
    rule = "eval" if bandwidth is None else bandwidth
    distance = kernel_distance(
        embeddings_ref, embeddings_test, bandwidth=rule, kernel=kernel, scale=scale
    )
    return distance.value


def _bandwidth(text: str) -> float | str:
    """An argparse type: a number, or a rule by its name."""
    return text if text in _RULES else positive_float(text)


@final
class KAD(AudioMetric):
    """The Kernel Audio Distance; ``bandwidth`` is a number, "eval" (default), "ref" or "pooled".

    The equation is that of ``compute_kad``. By default it compares the raw vectors of clips; ``frames``
    compares frames, as kadtk does.

    Examples:
        >>> from otadtk import KAD
        >>> isinstance(KAD("logmel", bandwidth="pooled").score("real/", "generated/"), float)
        True
    """

    name = "KAD"
    title = "Kernel Audio Distance"
    citation = """@article{chung2025kad,
  title   = {{KAD}: No More {FAD}! An Effective and Efficient Evaluation Metric for Audio
             Generation},
  author  = {Chung, Yoonjin and Eu, Pilsun and Lee, Junwon and Choi, Keunwoo and Nam, Juhan and
             Chon, Ben Sangbae},
  journal = {arXiv preprint arXiv:2502.15602},
  year    = {2025}
}"""
    unbiased = True
    accepts = frozenset({"vectors", "frames"})
    least_clips = LEAST_CLIPS
    has_flag = True
    options = (
        Option(
            "bandwidth",
            help="of the kernel: a number, or the median distance within the evaluated set (eval, "
            "default), the reference (ref) or both (pooled)",
            default="eval",
            parse=_bandwidth,
            metavar="SIGMA",
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "bandwidth": {
            "description": "KAD: the bandwidth of the kernel.",
            "type": "object",
            "properties": {
                "sigma": {"type": "number", "description": "The bandwidth that was used."},
                "rule": {
                    "enum": ["eval", "ref", "pooled", "given"],
                    "description": "The set whose median distance it is, or given.",
                },
            },
            "required": ["sigma", "rule"],
            "additionalProperties": False,
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        bandwidth: float | BandwidthRule = "eval",
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        self.bandwidth = bandwidth

    @property
    def settings_record(self) -> dict[str, Any]:
        """The bandwidth as it was asked for."""
        return {**super().settings_record, "bandwidth": self.bandwidth}

    def distance(self, ref: Array, test: Array) -> float:
        """The kernel distance of two sets of embeddings."""
        return self._kernel_distance(ref, test).value

    def between(self, pool: Array) -> SubsetDistance:
        """The kernel distance between subsets of a pool, each pair with its own median."""
        from otadtk.distances.subsets import kernel_between
        from otadtk.metrics.memory import usable_memory

        (points,) = self._adapted(pool)
        return kernel_between(points, self.bandwidth, max_memory=usable_memory())

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The kernel distance and its bandwidth."""
        found = self._kernel_distance(*self.points(reference, evaluated))
        return Measurement(
            found.value,
            description=f"KAD bandwidth {found.bandwidth:.6g} ({found.bandwidth_rule})",
            facts={"bandwidth": {"sigma": found.bandwidth, "rule": found.bandwidth_rule}},
        )

    def _kernel_distance(self, ref: Array, test: Array) -> KernelDistance:
        from otadtk.distances.distributed.kernel import kernel_distance_over
        from otadtk.distances.kernel import kernel_distance

        self._check_counts(ref, test)
        x, y = self._adapted(ref, test)
        if self.engine.distributed:
            return kernel_distance_over(self.engine, x, y, bandwidth=self.bandwidth)
        return kernel_distance(x, y, bandwidth=self.bandwidth)

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The kernel and its bandwidth."""
        found = result.get("bandwidth", {})
        rule, sigma = found.get("rule", result["settings"]["bandwidth"]), found.get("sigma")
        size = f", {sigma:.4g}" if sigma is not None else ""
        of = super().define(result, embeddings)
        whose = _RULES.get(rule, "given")
        return f"{of} with a Gaussian kernel (bandwidth {whose}{size})".lstrip()

    @classmethod
    def compare_vectors(cls, ref: Array, test: Array) -> float | None:
        """KAD of raw vectors."""
        return compute_kad(ref, test)

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value for each kernel; the tests derive them by other means."""

        def by(kernel: KernelName) -> Callable[[Array, Array], float]:
            return lambda x, y: compute_kad(x, y, kernel=kernel)

        return (
            GoldenValue("KAD, gaussian", 2.87816041, by("gaussian")),
            GoldenValue("KAD, iq", 2.33640668, by("iq")),
            GoldenValue("KAD, imq", 1.2790267, by("imq")),
        )
