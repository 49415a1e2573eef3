"""KID: the kernel distance with a polynomial kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.errors import UsageError
from otadtk.metrics.base import AudioMetric, MetricOptions
from otadtk.metrics.entry import GoldenValue, Measurement, Option, positive_whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from otadtk.distances.polynomial import PolynomialDistance
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

DEFAULT_SIZE = 1000


@final
class KID(AudioMetric):
    """The kernel distance with a polynomial kernel, of all clips or over random ``kid_subsets``."""

    name = "KID"
    title = "Kernel Inception Distance"
    citation = """@inproceedings{binkowski2018kid,
  title     = {Demystifying {MMD} {GAN}s},
  author    = {Bi{\\'n}kowski, Miko{\\l}aj and Sutherland, Danica J. and Arbel, Michael and
               Gretton, Arthur},
  booktitle = {ICLR},
  year      = {2018}
}"""
    unbiased = True
    least_clips = 2
    options = (
        Option(
            "kid_subsets",
            help="take the mean over so many random subsets, as torch-fidelity does (default: once, "
            "of all clips)",
            parse=positive_whole,
            metavar="R",
        ),
        Option(
            "kid_subset_size",
            help=f"clips a side in each of them (default: {DEFAULT_SIZE}, or all if there are fewer)",
            parse=positive_whole,
            metavar="N",
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "subsets": {
            "description": "KID: the subsets that the score is the mean of.",
            "type": "object",
            "properties": {
                "count": {"type": "integer", "description": "Number of subsets."},
                "size": {"type": "integer", "description": "Clips in each."},
                "deviation": {"type": "number", "description": "Standard deviation over them."},
                "seed": {"type": "integer", "description": "Seed of the draws."},
            },
            "required": ["count", "size", "deviation", "seed"],
            "additionalProperties": False,
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        kid_subsets: int | None = None,
        kid_subset_size: int | None = None,
        kid_seed: int = 2020,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        if kid_subset_size is not None and kid_subset_size < 2:
            raise UsageError(f"A subset needs at least 2 clips, not {kid_subset_size}.")
        if kid_subsets is not None and kid_subsets < 1:
            raise UsageError(f"kid_subsets must be at least 1, not {kid_subsets}.")
        self.subsets, self.size, self.seed = kid_subsets, kid_subset_size or DEFAULT_SIZE, kid_seed

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """A size without subsets does nothing."""
        if "kid_subset_size" in given and "kid_subsets" not in given:
            raise UsageError("--kid-subset-size belongs to --kid-subsets; remove it or add that.")

    @property
    def settings_record(self) -> dict[str, Any]:
        """The subsets, if there are any."""
        if self.subsets is None:
            return super().settings_record
        own = {"kid_subsets": self.subsets, "kid_subset_size": self.size}
        return {**super().settings_record, **own}

    def distance(self, ref: Array, test: Array) -> float:
        """The polynomial-kernel distance of two sets."""
        return self._polynomial(ref, test).value

    def between(self, pool: Array) -> SubsetDistance:
        """The distance of all clips between subsets of a pool: it is what the draws estimate."""
        from otadtk.distances.polynomial import polynomial_between
        from otadtk.metrics.memory import usable_memory

        (points,) = self._adapted(pool)
        return polynomial_between(points, max_memory=usable_memory())

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The distance, with its deviation over the subsets."""
        found = self._polynomial(*self.points(reference, evaluated))
        if found.deviation is None or self.subsets is None:
            return Measurement(found.value)
        return Measurement(
            found.value,
            details=(
                f"mean over {self.subsets} random subsets of {found.size} clips, standard deviation "
                f"{found.deviation:.6f}",
            ),
            facts={
                "subsets": {
                    "count": self.subsets,
                    "size": found.size,
                    "deviation": found.deviation,
                    "seed": self.seed,
                }
            },
        )

    def _polynomial(self, ref: Array, test: Array) -> PolynomialDistance:
        from otadtk.distances.polynomial import SubsetDraws, polynomial_distance

        self._check_counts(ref, test)
        x, y = self._adapted(ref, test)
        if self.subsets is None:
            return polynomial_distance(x, y)
        return polynomial_distance(x, y, SubsetDraws(self.subsets, self.size, self.seed))

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The kernel and the subsets."""
        of, found = super().define(result, embeddings), result.get("subsets")
        drawn = f", mean over {found['count']} subsets of {found['size']} clips" if found else ""
        return f"{of} with the kernel (⟨x, y⟩/d + 1)³{drawn}".lstrip()

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value; the tests derive it by other means."""
        from otadtk.distances.polynomial import polynomial_distance

        return (GoldenValue("KID", 0.0941806159, lambda x, y: polynomial_distance(x, y).value),)
