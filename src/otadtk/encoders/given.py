"""``given``: the encoder of embeddings that are given; it embeds no audio itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.encoders.spec import Encoder, EncoderSpec
from otadtk.errors import UsageError

if TYPE_CHECKING:
    import torch

GIVEN = EncoderSpec(
    name="given",
    summary="embeddings of your own, as .npy, .npz, .parquet or a folder of .npy",
    loader="otadtk.encoders.given:load",
    sample_rate=1,
    dim=0,
    preprocessing="none",
    licence="yours",
    paper="none",
    training_data="unknown",
)
"""Its dimension, 0, stands for any; both sets must have the same."""


def load(spec: EncoderSpec, device: torch.device, weights: Path | None = None) -> Encoder:
    """Nothing: there is no such network."""
    raise UsageError(f"The model {spec.name!r} takes embeddings; it cannot embed audio.")
