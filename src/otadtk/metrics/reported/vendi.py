"""Vendi Score: the effective number of different clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.metrics.base import AudioMetric, MetricOptions, PathLike
from otadtk.metrics.entry import GoldenValue, Measurement, Option
from otadtk.metrics.pairing import read_column, read_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

_LINES = 20
"""Groups that are printed; the JSON document has all."""


@final
class Vendi(AudioMetric):
    """The Vendi Score of the evaluated set, beside that of the reference.

    Each group of evaluated clips gets its own: those of ``vendi_groups``, a CSV of file,group, or
    those in one folder.
    """

    name = "Vendi"
    title = "Vendi Score"
    citation = """@article{friedman2023vendi,
  title   = {The {Vendi Score}: A Diversity Evaluation Metric for Machine Learning},
  author  = {Friedman, Dan and Dieng, Adji Bousso},
  journal = {Transactions on Machine Learning Research},
  year    = {2023}
}"""
    higher_is_better = True
    has_floor = False
    why_no_floor = "it is a score of the evaluated set alone"
    options = (
        Option(
            "vendi_groups",
            help="a CSV of file,group with the group of every evaluated clip (default: its folder)",
            parse=Path,
            metavar="CSV",
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "vendi_groups": {
            "description": "Vendi: the score of each group of evaluated clips.",
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "group": {"type": "string", "description": "Name of the group."},
                    "clips": {"type": "integer", "description": "Number of its clips."},
                    "score": {"type": "number", "description": "Its Vendi Score."},
                },
                "required": ["group", "clips", "score"],
                "additionalProperties": False,
            },
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        vendi_groups: PathLike | None = None,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        self._table = Path(vendi_groups) if vendi_groups is not None else None

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """A table of groups must be one, before clips are embedded."""
        if "vendi_groups" in given:
            read_rows(given["vendi_groups"], ("file", "group"))

    def distance(self, ref: Array, test: Array) -> float:
        """The Vendi Score of the evaluated set; the reference does not enter."""
        from otadtk.distances.diversity import vendi_score

        (points,) = self._adapted(test)
        return vendi_score(points)

    def between(self, pool: Array) -> SubsetDistance:
        """The Vendi Score of the second of two subsets of a pool."""
        from otadtk.distances.diversity import vendi_score

        (points,) = self._adapted(pool)
        return lambda i, j: vendi_score(points[j])

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The scores of both sets, and of each group of evaluated clips."""
        x, y = self.points(reference, evaluated)
        score = self.distance(x, y)
        groups = [
            {"group": name, "clips": len(places), "score": self.distance(x, y[places])}
            for name, places in self._groups(evaluated.files).items()
        ]
        return Measurement(
            score,
            values={"evaluated": score, "reference": self.distance(y, x)},
            details=tuple(
                f"{found['group']}: {found['score']:.3f} effective clips of {found['clips']}"
                for found in groups[:_LINES]
            ),
            facts={"vendi_groups": groups},
        )

    def _groups(self, files: Sequence[Path]) -> dict[str, list[int]]:
        """The places of the clips of each group; none if all clips lie in one folder."""
        if self._table is not None:
            names = read_column(self._table, "group", files)
        else:
            names = [str(file.parent) for file in files]
        groups: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            groups.setdefault(name, []).append(place)
        return dict(sorted(groups.items())) if self._table is not None or len(groups) > 1 else {}

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The kernel."""
        of = super().define(result, embeddings)
        return f"{of} with the cosine as similarity".lstrip()

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value; the tests derive it by other means."""
        from otadtk.distances.diversity import vendi_score

        return (GoldenValue("Vendi", 2.59703517, lambda x, y: vendi_score(y)),)
