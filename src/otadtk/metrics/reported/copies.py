"""Copies: whether evaluated clips are copies of clips that a system was trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.errors import UsageError
from otadtk.metrics.base import AudioMetric, MetricOptions, PathLike
from otadtk.metrics.entry import Measurement, Option, some_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from otadtk.distances.copies import Nearest
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

NEAR = 0.15
"""A near-copy is nearer to its training clip than this share of the usual distance of neighbours in
the training set, as in the audit of two sets."""


@final
class Copies(AudioMetric):
    """C_T against ``training_set``, with authenticity and the copies; the reference is held out."""

    name = "C_T"
    title = "Data-Copying Test"
    citation = """@inproceedings{meehan2020copying,
  title     = {A Non-Parametric Test to Detect Data-Copying in Generative Models},
  author    = {Meehan, Casey and Chaudhuri, Kamalika and Dasgupta, Sanjoy},
  booktitle = {AISTATS},
  year      = {2020}
}

@inproceedings{alaa2022faithful,
  title     = {How Faithful is Your Synthetic Data? Sample-level Metrics for Evaluating and
               Auditing Generative Models},
  author    = {Alaa, Ahmed M. and van Breugel, Boris and Saveliev, Evgeny and
               van der Schaar, Mihaela},
  booktitle = {ICML},
  year      = {2022}
}"""
    higher_is_better = True
    least_clips = 2
    options = (
        Option(
            "training_set",
            help="the clips that the system was trained on; the reference must be held out of them",
            parse=Path,
            metavar="DIR",
            is_data=True,
            asks=True,
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "copies": {
            "description": "Copies: evaluated clips that copy a training clip.",
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "evaluated": {"type": "string", "description": "The evaluated clip."},
                    "training": {"type": "string", "description": "The training clip."},
                    "same_bytes": {
                        "type": "boolean",
                        "description": "Whether the files are equal.",
                    },
                    "distance": {"type": "number", "description": "Distance of their vectors."},
                    "held_out_as_near": {
                        "type": "number",
                        "description": "Share of held-out clips as near to the training set.",
                    },
                },
                "required": [
                    "evaluated",
                    "training",
                    "same_bytes",
                    "distance",
                    "held_out_as_near",
                ],
                "additionalProperties": False,
            },
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        training_set: PathLike | None = None,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        if training_set is None:
            raise UsageError("The test of copies needs the training clips: --training-set DIR.")
        self._training_set = training_set

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """Copies of nothing cannot be found."""
        from otadtk.embed.audio_files import check_source
        from otadtk.embed.formats.table import holds_embeddings

        place = given.get("training_set")
        if place is None:
            raise UsageError("The test of copies needs the training clips: --training-set DIR.")
        if not holds_embeddings(place):
            check_source(place, recursive=given.get("recursive", True))

    @property
    def settings_record(self) -> dict[str, Any]:
        """Where the training clips are."""
        return {**super().settings_record, "training_set": str(self._training_set)}

    @cached_property
    def training(self) -> EmbeddingSet:
        """The embedded training set."""
        found = self.embed(self._training_set)
        self._check_accepted(found)
        if len(found.files) < self.least_clips:
            raise UsageError(f"{self._training_set} has one clip; the test of copies needs two.")
        return found

    def distance(self, ref: Array, test: Array) -> float:
        """C_T; below −1.6 the evaluated clips are nearer to the training set than chance allows."""
        from otadtk.distances.copies import copying_test

        self._check_counts(ref, test)
        return copying_test(self._nearest(ref).squared, self._nearest(test).squared)

    def between(self, pool: Array) -> SubsetDistance:
        """C_T between subsets of a pool."""
        from otadtk.distances.copies import copying_test

        squared = self._nearest(pool).squared
        return lambda i, j: copying_test(squared[i], squared[j])

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """C_T, authenticity, and every copy with its training clip."""
        from otadtk.distances.copies import authentic, copying_test

        x, y = self.points(reference, evaluated)
        self._check_counts(x, y)
        held_out, found = self._nearest(x), self._nearest(y)
        score = copying_test(held_out.squared, found.squared)
        copies = self._copies(evaluated, found, held_out)
        chance = 0.5 * math.erfc(-score / math.sqrt(2.0))
        return Measurement(
            score,
            values={
                "score": score,
                "authenticity": float(authentic(found, self._among_training).mean()),
            },
            details=(
                f"one-sided p = {chance:.2g} for clips that are no nearer than held-out ones",
                _in_words(copies, len(y)),
            ),
            notes=self._leaks(reference),
            facts={"copies": copies},
        )

    def _leaks(self, reference: EmbeddingSet) -> tuple[str, ...]:
        """A note if reference clips are among the training clips: then they are not held out."""
        known = set(self.training.digests)
        files = zip(reference.files, reference.digests, strict=True)
        seen = [str(file) for file, digest in files if digest in known]
        if not seen:
            return ()
        return (f"{len(seen)} reference clips are training clips, not held out: {some_of(seen)}.",)

    def _copies(
        self, evaluated: EmbeddingSet, found: Nearest, held_out: Nearest
    ) -> list[dict[str, Any]]:
        import numpy as np

        usual = float(np.sqrt(np.median(self._among_training.squared)))
        place_of = {digest: k for k, digest in enumerate(self.training.digests)}
        copies = []
        for j, (file, digest) in enumerate(zip(evaluated.files, evaluated.digests, strict=True)):
            same, away = digest in place_of, math.sqrt(float(found.squared[j]))
            if same or away < NEAR * usual:
                training = place_of[digest] if same else int(found.place[j])
                copies.append(
                    {
                        "evaluated": str(file),
                        "training": str(self.training.files[training]),
                        "same_bytes": same,
                        "distance": 0.0 if same else away,
                        "held_out_as_near": float(np.mean(held_out.squared <= found.squared[j])),
                    }
                )
        return copies

    @cached_property
    def _among_training(self) -> Nearest:
        from otadtk.distances.copies import nearest

        (points,) = self._adapted(self.training.points)
        return nearest(points, points, others=True)

    def _nearest(self, points: Array) -> Nearest:
        from otadtk.distances.copies import nearest

        return nearest(*self._adapted(points, self.training.points))

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The test, with one cell, and what stands beside it."""
        of = super().define(result, embeddings)
        return f"{of} with one cell, and authenticity [alaa2022faithful]".lstrip()


def _in_words(copies: list[dict[str, Any]], clips: int) -> str:
    """How many clips are copies, and which."""
    if not copies:
        return f"none of {clips} evaluated clips is a copy of a training clip"
    same = sum(copy["same_bytes"] for copy in copies)
    beyond = sum(copy["held_out_as_near"] == 0.0 for copy in copies)
    names = [f"{copy['evaluated']} ~ {copy['training']}" for copy in copies]
    return (
        f"copies of training clips: {len(copies)} of {clips}, {same} with the same bytes, {beyond} "
        f"nearer than every held-out clip: {some_of(names)}"
    )
