"""KL: the mean divergence of the class posteriors of paired clips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.errors import UsageError
from otadtk.metrics.base import MetricOptions, PathLike
from otadtk.metrics.entry import GoldenValue, Measurement, Option, not_negative, some_of
from otadtk.metrics.pairing import PAIRED, Pairing, pair_sets, read_rows
from otadtk.metrics.reported.class_scores import ClassScoreMetric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from otadtk.distances.posteriors import Form
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics.base import Array

FORMS = ("softmax", "sigmoid")
DIRECTIONS = {"ref": "reference ‖ evaluated", "eval": "evaluated ‖ reference"}


@final
class KL(ClassScoreMetric):
    """The mean KL divergence of the posteriors of paired clips.

    ``kl_from`` says whose posterior is the first: "ref" for KL(reference ‖ evaluated), or "eval".
    """

    name = "KL"
    title = "Kullback-Leibler divergence of class posteriors"
    citation = """@inproceedings{iashin2021taming,
  title     = {Taming Visually Guided Sound Generation},
  author    = {Iashin, Vladimir and Rahtu, Esa},
  booktitle = {BMVC},
  year      = {2021}
}"""
    unbiased = True
    why_no_floor = "it compares pairs of clips that belong together, and these cannot be parted"
    accepts = frozenset({"class_scores", "pairs"})
    options = (
        Option(
            "kl_form",
            help="posteriors by softmax (default: classes exclude each other) or sigmoid",
            default="softmax",
            choices=FORMS,
        ),
        Option(
            "kl_from",
            help="KL(reference ‖ evaluated) (ref, default) or KL(evaluated ‖ reference) (eval)",
            default="ref",
            choices=tuple(DIRECTIONS),
        ),
        Option(
            "kl_epsilon",
            help="a number added to the second posterior, as some tools do (default: 0)",
            default=0.0,
            parse=not_negative,
            metavar="E",
        ),
        Option(
            "kl_pairs",
            help="a CSV of reference,evaluated that says which clips belong together (default: those "
            "of equal names)",
            parse=Path,
            metavar="CSV",
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "kl_pairs": {
            "description": "KL: the divergence of each pair of clips.",
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "reference": {"type": "string", "description": "The reference clip."},
                    "evaluated": {"type": "string", "description": "The evaluated clip."},
                    "value": {"type": "number", "description": "Their divergence, in nats."},
                },
                "required": ["reference", "evaluated", "value"],
                "additionalProperties": False,
            },
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        kl_form: Form = "softmax",
        kl_from: str = "ref",
        kl_epsilon: float = 0.0,
        kl_pairs: PathLike | None = None,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        self._check_variant()
        if kl_from not in DIRECTIONS:
            raise UsageError(f"kl_from must be ref or eval, not {kl_from!r}.")
        self.form, self.first, self.epsilon, self.table = kl_form, kl_from, kl_epsilon, kl_pairs

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """A table of pairs must be one, before clips are embedded."""
        if "kl_pairs" in given:
            read_rows(given["kl_pairs"], PAIRED)

    @property
    def settings_record(self) -> dict[str, Any]:
        """The form, the direction, and what is added."""
        return {"kl_form": self.form, "kl_from": self.first, "kl_epsilon": self.epsilon}

    @property
    def bounds(self) -> tuple[float, float]:
        """A divergence is not negative; the sum of the sigmoid form may be."""
        divergence = self.form == "softmax" and self.epsilon == 0.0
        return 0.0 if divergence else -math.inf, math.inf

    def distance(self, ref: Array, test: Array) -> float:
        """The mean divergence of the k-th row of one set from the k-th of the other."""
        return float(self._divergences(ref, test, self.form).mean())

    def between(self, pool: Array) -> SubsetDistance:
        """The same of the k-th clips of two subsets of a pool."""
        return lambda i, j: self.distance(pool[i], pool[j])

    def between_sets(self, sets: Sequence[EmbeddingSet]) -> SubsetDistance:
        """The mean over those pairs whose evaluated clip is in the second subset.

        The reference clip goes with its partner, so chance is that of the pairs alone.
        """
        import numpy as np

        values = [np.full(len(sets[0].files), np.nan)]
        for side in sets[1:]:
            pairing = self._pairing(sets[0], side)
            found = np.full(len(side.files), np.nan)
            found[list(pairing.evaluated)] = self._of_pairs(sets[0], side, pairing, self.form)
            values.append(found)
        pooled = np.concatenate(values)

        def mean(_: Any, j: NDArray[np.intp]) -> float:
            known = pooled[j][~np.isnan(pooled[j])]
            if len(known) == 0:
                raise UsageError("Too few clips have a partner for statistics of KL.")
            return float(known.mean())

        return mean

    def compare_sets(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> float:
        """The mean over the pairs of two sets."""
        return self.measure(reference, evaluated).score

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The mean over the pairs in both forms, and the value of each pair."""
        pairing = self._pairing(reference, evaluated)
        forms = (self.form, *(form for form in FORMS if form != self.form))
        values = {
            form: self._of_pairs(reference, evaluated, pairing, form)  # type: ignore[arg-type]
            for form in forms
        }
        alone = [str(evaluated.files[j]) for j in pairing.alone]
        notes = [f"{len(alone)} evaluated clips have no partner: {some_of(alone)}."]
        rows = zip(pairing.reference, pairing.evaluated, values[self.form].tolist(), strict=True)
        return Measurement(
            float(values[self.form].mean()),
            values={form: float(found.mean()) for form, found in values.items()},
            description=f"KL({DIRECTIONS[self.first]}) over {len(pairing.evaluated)} pairs",
            notes=tuple(notes if alone else ()),
            facts={
                "kl_pairs": [
                    {
                        "reference": str(reference.files[i]),
                        "evaluated": str(evaluated.files[j]),
                        "value": value,
                    }
                    for i, j, value in rows
                ]
            },
        )

    def _pairing(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Pairing:
        return pair_sets(self.name, reference, evaluated, self.table, "--kl-pairs")

    def _of_pairs(
        self, reference: EmbeddingSet, evaluated: EmbeddingSet, pairing: Pairing, form: Form
    ) -> NDArray[np.float64]:
        x, y = self.points(reference, evaluated)
        return self._divergences(x[list(pairing.reference)], y[list(pairing.evaluated)], form)

    def _divergences(self, ref: Array, test: Array, form: Form) -> NDArray[np.float64]:
        from otadtk.distances.posteriors import divergences

        first, second = (ref, test) if self.first == "ref" else (test, ref)
        return divergences(first, second, form, self.epsilon)

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The direction and what is added to the second posterior."""
        settings, of = result["settings"], embeddings.replace(" embeddings", "")
        added = (
            f", {settings['kl_epsilon']:g} added to the second" if settings["kl_epsilon"] else ""
        )
        by = f"by {of}, " if of else ""
        return f"({by}{DIRECTIONS[settings['kl_from']]}, mean over pairs{added})"

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value for each form, of rows as logits; the tests derive them by other means."""
        return (
            GoldenValue("KL, softmax", 0.505014171, partial(_mean_divergence, "softmax")),
            GoldenValue("KL, sigmoid", 0.146639888, partial(_mean_divergence, "sigmoid")),
        )


def _mean_divergence(form: Form, ref: Array, test: Array) -> float:
    from otadtk.distances.posteriors import divergences

    return float(divergences(ref[: len(test)], test, form).mean())
