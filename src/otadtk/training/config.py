"""The configuration of a training run: frozen, and written whole into the adapter's card."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from otadtk.errors import UsageError

VARIANTS = ("agnostic", "native", "artifact")


@dataclass(frozen=True)
class TrainingConfig:
    """What decides a run beside the data; the same seed gives the same file on one machine."""

    variant: str = "agnostic"
    seed: int = 0
    epochs: int = 40
    """At most; training stops earlier when validation has not improved for ``patience`` epochs."""
    steps: int = 40
    """Batches per epoch."""
    batch: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    patience: int = 8
    margin: float = 0.1
    """Of the triplet hinge, as a share of the mean squared distance."""
    dropout: float = 0.1
    epsilon: float = 0.1
    """Of the Sinkhorn divergence (native)."""
    apart: float = 0.5
    """How far spoilt batches are pushed (native), as a share of the mean squared distance."""
    kept_variance: float = 0.8
    """Below which the native loss pushes back."""
    fault_weight: float = 0.3
    feature_weight: float = 0.05
    hidden: int = 128
    other_kinds: int = 3
    """How many further kinds of fault each clip is spoilt with, beside noise and shuffling."""

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UsageError(
                f"Unknown variant {self.variant!r}; choose from {', '.join(VARIANTS)}."
            )
        for name in ("epochs", "steps", "batch", "patience", "hidden"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}.")
        for name in ("learning_rate", "margin", "epsilon", "fault_weight", "feature_weight"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise UsageError(f"{name} must be a number above 0, not {getattr(self, name)}.")

    @classmethod
    def for_variant(cls, variant: str, **changes: Any) -> TrainingConfig:
        """The recipe that was chosen on held-out classes for a variant, with one's own changes."""
        chosen: dict[str, dict[str, Any]] = {
            "agnostic": {"epochs": 20},
            "native": {"learning_rate": 2e-4, "batch": 64, "steps": 20, "epochs": 15},
            "artifact": {"learning_rate": 2e-3, "dropout": 0.3, "epochs": 20},
        }
        return cls(variant=variant, **{**chosen.get(variant, {}), **changes})

    def to_card(self) -> dict[str, Any]:
        """All values by name."""
        return asdict(self)
