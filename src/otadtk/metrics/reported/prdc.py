"""PRDC: precision, recall, density and coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.errors import UsageError
from otadtk.metrics.base import AudioMetric, MetricOptions
from otadtk.metrics.entry import GoldenValue, Measurement, Option, positive_whole, some_of

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from otadtk.distances.manifolds import Manifolds
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

VALUES = ("precision", "recall", "density", "coverage")
DEFAULT_NEIGHBOURS = 5
_FILES = {"type": "array", "items": {"type": "string"}}


@final
class PRDC(AudioMetric):
    """Precision, recall, density and coverage by ``neighbours``; ``first`` is the one to rank by."""

    name = "PRDC"
    title = "Precision, Recall, Density and Coverage"
    citation = """@inproceedings{naeem2020prdc,
  title     = {Reliable Fidelity and Diversity Metrics for Generative Models},
  author    = {Naeem, Muhammad Ferjad and Oh, Seong Joon and Uh, Youngjung and Choi, Yunjey and
               Yoo, Jaejun},
  booktitle = {ICML},
  year      = {2020}
}"""
    higher_is_better = True
    least_clips = 2
    options = (
        Option(
            "neighbours",
            help=f"the ball of a clip reaches to its k-th neighbour (default: {DEFAULT_NEIGHBOURS})",
            default=DEFAULT_NEIGHBOURS,
            parse=positive_whole,
            metavar="K",
        ),
        Option(
            "prdc_first",
            help="the number that systems are ranked by (default: coverage)",
            default="coverage",
            choices=VALUES,
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "outside": {
            "description": "PRDC: clips outside the other set's manifold.",
            "type": "object",
            "properties": {
                "evaluated": {"description": "Evaluated clips.", **_FILES},
                "reference": {"description": "Reference clips.", **_FILES},
            },
            "required": ["evaluated", "reference"],
            "additionalProperties": False,
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        neighbours: int = DEFAULT_NEIGHBOURS,
        prdc_first: str = "coverage",
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        if prdc_first not in VALUES:
            raise UsageError(f"prdc_first must be one of {', '.join(VALUES)}, not {prdc_first!r}.")
        self.neighbours, self.first = neighbours, prdc_first

    @property
    def settings_record(self) -> dict[str, Any]:
        """The number of neighbours."""
        own = {"neighbours": self.neighbours, "prdc_first": self.first}
        return {**super().settings_record, **own}

    @property
    def bounds(self) -> tuple[float, float]:
        """Shares lie between 0 and 1; a density has no upper bound."""
        return 0.0, math.inf if self.first == "density" else 1.0

    def distance(self, ref: Array, test: Array) -> float:
        """The number that systems are ranked by."""
        return float(getattr(self._manifolds(ref, test), self.first))

    def between(self, pool: Array) -> SubsetDistance:
        """That number between subsets of a pool."""
        from otadtk.distances.manifolds import manifolds_between
        from otadtk.metrics.memory import usable_memory

        (points,) = self._adapted(pool)
        memory = usable_memory()
        return manifolds_between(points, self.neighbours, self.first, max_memory=memory)

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """All four numbers, and the clips outside the other set's manifold."""
        found = self._manifolds(*self.points(reference, evaluated))
        order = (self.first, *(value for value in VALUES if value != self.first))
        sides = {
            "evaluated": _outside(evaluated.files, found.evaluated_inside.tolist()),
            "reference": _outside(reference.files, found.reference_inside.tolist()),
        }
        others = {"evaluated": "reference", "reference": "evaluated"}
        return Measurement(
            getattr(found, self.first),
            values={value: getattr(found, value) for value in order},
            details=tuple(
                f"{len(files)} {side} {'clip lies' if len(files) == 1 else 'clips lie'} outside the "
                f"manifold of the {others[side]} set: {some_of(files)}"
                for side, files in sides.items()
                if files
            ),
            facts={"outside": sides},
        )

    def _manifolds(self, ref: Array, test: Array) -> Manifolds:
        from otadtk.distances.manifolds import manifolds

        self._check_counts(ref, test)
        x, y = self._adapted(ref, test)
        return manifolds(x, y, self.neighbours)

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The number of neighbours."""
        of = super().define(result, embeddings)
        return f"{of} with {result['settings']['neighbours']} nearest neighbours".lstrip()

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value each; the tests derive them by other means."""
        known = {"precision": 28 / 30, "recall": 29 / 40, "density": 97 / 150, "coverage": 34 / 40}
        return tuple(
            GoldenValue(f"PRDC, {value}", number, partial(_compute, value))
            for value, number in known.items()
        )


def _compute(value: str, ref: Array, test: Array) -> float:
    from otadtk.distances.manifolds import manifolds

    return float(getattr(manifolds(ref, test, DEFAULT_NEIGHBOURS), value))


def _outside(files: Sequence[Path], inside: Sequence[bool]) -> list[str]:
    return [str(file) for file, within in zip(files, inside, strict=True) if not within]
