"""Results that show themselves in a notebook, and the score as one of them."""

from __future__ import annotations


class Shown:
    """A result that a notebook shows as a small table instead of text."""

    def _repr_html_(self) -> str:
        # the views lie in a room above this one, which only the package's own front door knows
        import otadtk

        view: str = otadtk.notebook_html(self)
        return view


class Score(Shown, float):
    """A score: a float that knows what was measured.

    It computes, prints and compares as the number that it is.

    >>> from otadtk.metrics.shown import Score
    >>> Score(0.25, metric="OTAD", reference_clips=60, evaluated_clips=40) * 2
    0.5
    """

    metric: str
    model: str
    variant: str
    """The ground metric."""
    reference_clips: int
    evaluated_clips: int
    higher_is_better: bool

    def __new__(
        cls,
        value: float,
        *,
        metric: str = "",
        model: str = "",
        variant: str = "raw",
        reference_clips: int = 0,
        evaluated_clips: int = 0,
        higher_is_better: bool = False,
    ) -> Score:
        """The number with its facts; a pickled score keeps them."""
        score = super().__new__(cls, value)
        score.metric, score.model, score.variant = metric, model, variant
        score.reference_clips, score.evaluated_clips = reference_clips, evaluated_clips
        score.higher_is_better = higher_is_better
        return score
