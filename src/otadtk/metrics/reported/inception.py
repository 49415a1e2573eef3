"""IS: the Inception Score of the evaluated clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from otadtk.metrics.base import MetricOptions
from otadtk.metrics.entry import GoldenValue, Measurement, Option, positive_whole
from otadtk.metrics.reported.class_scores import ClassScoreMetric

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

SHUFFLE_SEED = 2020
"""Of the order in which clips are split, as torch-fidelity and audioldm_eval have it."""


@final
class IS(ClassScoreMetric):
    """The Inception Score of the evaluated set in ``is_splits``, beside that of the reference."""

    name = "IS"
    title = "Inception Score"
    citation = """@inproceedings{salimans2016improved,
  title     = {Improved Techniques for Training {GAN}s},
  author    = {Salimans, Tim and Goodfellow, Ian and Zaremba, Wojciech and Cheung, Vicki and
               Radford, Alec and Chen, Xi},
  booktitle = {NeurIPS},
  year      = {2016}
}"""
    higher_is_better = True
    why_no_floor = "it is a score of the evaluated set alone"
    options = (
        Option(
            "is_splits",
            help="take the mean over so many parts of the set, in shuffled order (default: 1)",
            default=1,
            parse=positive_whole,
            metavar="S",
        ),
    )

    def __init__(
        self,
        model: str = "yamnet",
        *,
        is_splits: int = 1,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        self._check_variant()
        self.splits = is_splits

    @property
    def settings_record(self) -> dict[str, Any]:
        """The number of splits."""
        return {"is_splits": self.splits}

    @property
    def bounds(self) -> tuple[float, float]:
        """Between 1 and the number of classes."""
        return 1.0, float(self.spec.classes)

    def distance(self, ref: Array, test: Array) -> float:
        """The Inception Score of the evaluated set; the reference does not enter."""
        from otadtk.distances.posteriors import inception_score

        return inception_score(test, self.splits, SHUFFLE_SEED).mean

    def between(self, pool: Array) -> SubsetDistance:
        """The Inception Score of the second of two subsets of a pool."""
        return lambda i, j: self.distance(pool[i], pool[j])

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The scores of both sets, and the deviation over the splits."""
        from otadtk.distances.posteriors import inception_score

        x, y = self.points(reference, evaluated)
        found = inception_score(y, self.splits, SHUFFLE_SEED)
        values = {"evaluated": found.mean}
        if self.splits > 1:
            values["deviation"] = found.deviation
        if len(x) >= self.splits:
            values["reference"] = inception_score(x, self.splits, SHUFFLE_SEED).mean
        return Measurement(found.mean, values=values)

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The classifier and the splits."""
        splits, of = result["settings"]["is_splits"], embeddings.replace(" embeddings", "")
        parts = f"in {splits} splits" if splits > 1 else "of all clips"
        return f"{f'by {of} ' if of else ''}{parts}"

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value, of rows as logits; the tests derive it by other means."""
        from otadtk.distances.posteriors import inception_score

        return (GoldenValue("IS", 1.1502985, lambda x, y: inception_score(y).mean),)
