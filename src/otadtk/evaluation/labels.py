"""Proves a classifier by the demo's sounds: they get the labels that one expects.

Every kind of sound has one label. The label must be stronger for its own kind than for every other
kind: that compares sounds under one label, so that a network's general likes (YAMNet hears "Music" in
much that is synthetic) do not matter. A network with wrong weights or a wrong front end finds a label
by chance for one kind in seven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.encoders import Encoder

AUDIOSET_CLASSES = 527
LABELS: Mapping[str, tuple[str, int]] = {
    "impacts": ("Wood block", 173),
    "rain": ("Rain", 289),
    "chirps": ("Bird", 111),
    "bell": ("Bell", 200),
    "speech": ("Speech", 0),
    "wind": ("Wind", 283),
    "alarm": ("Alarm", 388),
}
"""The label of each kind and its place among AudioSet's 527. The demo's engine is left out: it
sounds like a synthesiser."""
_CLIPS = 4
"""Of each kind; the mean of their logits counts."""
_ENOUGH = 5
"""Labels that must be right. At random so many are right once in a thousand times."""


@dataclass(frozen=True)
class LabelProof:
    """For the label of every kind, the kind of sound that it is strongest for."""

    strongest: Mapping[str, str]

    @property
    def right(self) -> Sequence[str]:
        """The kinds whose label is strongest for themselves."""
        return [kind for kind, found in self.strongest.items() if kind == found]

    @property
    def passed(self) -> bool:
        """Whether enough labels are right."""
        return len(self.right) >= _ENOUGH

    @property
    def summary(self) -> str:
        """One line: pass or fail, and which labels are wrong."""
        wrong = [
            f"{LABELS[kind][0]} for {found}"
            for kind, found in self.strongest.items()
            if kind != found
        ]
        listed = f" (strongest: {', '.join(wrong)})" if wrong else ""
        return (
            f"{'pass' if self.passed else 'FAIL'}: {len(self.right)} of {len(self.strongest)} labels "
            f"are strongest for the sounds that they name{listed}; {_ENOUGH} are needed"
        )


def prove_labels(encoder: Encoder) -> LabelProof:
    """The labels that a loaded encoder with a classifier gives the demo's sounds."""
    import numpy as np

    from otadtk.audio.synthesis import synthesise

    places = _places(encoder)
    rate = encoder.spec.sample_rate
    logits = np.stack(
        [
            np.mean(
                [encoder.classify(synthesise(kind, k, rate=rate), rate) for k in range(_CLIPS)], 0
            )
            for kind in LABELS
        ]
    )
    kinds = list(LABELS)
    return LabelProof(
        {kind: kinds[int(logits[:, place].argmax())] for kind, place in places.items()}
    )


def _places(encoder: Encoder) -> dict[str, int]:
    """The place of each kind's label in the encoder's classes."""
    names = getattr(encoder, "class_names", None)
    if names is not None:
        return {kind: names.index(label) for kind, (label, _) in LABELS.items()}
    if encoder.spec.classes != AUDIOSET_CLASSES:
        raise UsageError(f"{encoder.spec.name!r} has no AudioSet labels to prove.")
    return {kind: place for kind, (_, place) in LABELS.items()}
