"""The configuration of a training run; it is frozen and stored in the adapter's card."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from otadtk.audio.faults import FAMILIES
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.distances.validate import check_seed
from otadtk.errors import UsageError

_LARGEST = 1e6
"""Weights and rates beyond it only overflow."""
VARIANTS = ("agnostic", "native", "artifact", "perceptual")


@dataclass(frozen=True)
class TrainingConfig:
    """All settings of a run. The same data and seed give the same file on one machine."""

    variant: str = "agnostic"
    seed: int = 0
    epochs: int = 40
    """At most; training stops early after ``patience`` epochs without improvement."""
    steps: int = 40
    """Batches per epoch."""
    batch: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    patience: int = 8
    margin: float = 0.1
    """Of the triplet hinge, as a share of the mean squared distance."""
    dropout: float = 0.1
    epsilon: float = DEFAULT_EPSILON
    """Of the Sinkhorn divergence (native)."""
    apart: float = 0.5
    """The divergence up to which clean and degraded batches are pushed apart (native), as a share
    of the mean squared distance."""
    kept_variance: float = 0.8
    """The native loss penalises a retained variance below this."""
    fault_weight: float = 0.3
    feature_weight: float = 0.05
    hidden: int = 128
    other_kinds: int = 3
    """How many kinds of fault each clip gets besides noise and shuffling."""
    block_weights: tuple[float, ...] = (0.46, 0.46, 0.09, 0.09, 0.15, 0.07)
    """Of the embedding, the layers, and the signal, texture, spectrum and full-band features
    (perceptual). With these, reference clips are at a mean squared distance near that of unit
    embeddings, and the default ε means the same."""
    clip_block_share: float = 0.36
    clip_signal_weight: float = 1.0
    clip_fault_weight: float = 2.76
    """Single clips are judged with these (perceptual): the blocks count 0.36 of what they count between
    sets, but the signal features 11 times and faults 12 times as much."""
    single_faults: int = 6
    """How many versions with one fault each clip gets (perceptual). A third as many are chains, and
    a third as many of the first kinds of ``otadtk.audio.perturb``."""
    audible: float = 0.7
    """The strength from which on a fault should be heard without doubt (perceptual)."""
    leave_out: str = ""
    """A family of faults that is not trained on (perceptual), to measure generalisation."""

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UsageError(
                f"Unknown variant {self.variant!r}; choose from {', '.join(VARIANTS)}."
            )
        if self.leave_out and self.leave_out not in FAMILIES:
            raise UsageError(
                f"Unknown family {self.leave_out!r} of faults; choose from {', '.join(FAMILIES)}."
            )
        if len(self.block_weights) != 6 or min(self.block_weights) <= 0.0:
            raise UsageError(f"block_weights are six numbers above 0, not {self.block_weights}.")
        for name in ("epochs", "steps", "batch", "patience", "hidden", "single_faults"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}.")
        for name in (
            "learning_rate",
            "margin",
            "epsilon",
            "fault_weight",
            "feature_weight",
            "clip_block_share",
            "clip_signal_weight",
            "clip_fault_weight",
            "audible",
        ):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise UsageError(f"{name} must be a number above 0, not {getattr(self, name)}.")
            if getattr(self, name) > _LARGEST:
                raise UsageError(f"{name} must be {_LARGEST:g} at most, not {getattr(self, name)}.")
        check_seed(self.seed)

    @classmethod
    def for_variant(cls, variant: str, **changes: Any) -> TrainingConfig:
        """The settings chosen for a variant on held-out classes, with ``changes`` applied."""
        chosen: dict[str, dict[str, Any]] = {
            "agnostic": {"epochs": 20},
            "native": {"learning_rate": 2e-4, "batch": 64, "steps": 20, "epochs": 15},
            "artifact": {"learning_rate": 2e-3, "dropout": 0.3, "epochs": 20},
            "perceptual": {
                "learning_rate": 2e-3,
                "dropout": 0.4,
                "hidden": 384,
                "epochs": 16,
                "steps": 200,
                "fault_weight": 0.23,
            },
        }
        return cls(variant=variant, **{**chosen.get(variant, {}), **changes})

    def to_card(self) -> dict[str, Any]:
        """All values by name."""
        return asdict(self)
