"""Splits clips into training and held-out classes; no recording is on both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import UsageError
from otadtk.training.datasets import LabelledClip

HELD_OUT_SHARE = 0.2

Mask = NDArray[np.bool_]


def held_out(clips: Sequence[LabelledClip], seed: int) -> tuple[Mask, Mask]:
    """Masks (train, validation): a fifth of the classes, at least two, is held out.

    A training clip whose recording also occurs in a held-out class is in neither mask.
    """
    classes = sorted({clip.label for clip in clips})
    count = max(2, round(HELD_OUT_SHARE * len(classes)))
    chosen = set(np.random.default_rng([seed, 1]).permutation(classes)[:count].tolist())
    validation = np.array([clip.label in chosen for clip in clips])
    known = {clip.recording for clip, held in zip(clips, validation, strict=True) if held}
    train = np.array([clip.recording not in known for clip in clips]) & ~validation
    if len({clip.label for clip, own in zip(clips, train, strict=True) if own}) < 2:
        raise UsageError(
            "Too few classes are left to train on: recordings that occur in several classes are "
            "held out together."
        )
    return train, validation


def halves(clips: Sequence[LabelledClip], chosen: Mask, seed: int) -> tuple[Mask, Mask]:
    """Masks (reference, evaluated): two halves of the chosen clips that share no recording."""
    recordings = sorted({clip.recording for clip, own in zip(clips, chosen, strict=True) if own})
    order = np.random.default_rng([seed, 2]).permutation(recordings)
    first = set(order[: max(1, len(order) // 2)].tolist())
    reference = np.array([clip.recording in first for clip in clips]) & chosen
    return reference, chosen & ~reference
