"""The model ``given``: precomputed embeddings, of any encoder and any dimension."""

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
    loader="otadtk.encoders.precomputed:load",
    sample_rate=1,
    dim=0,
    preprocessing="none",
    licence="yours",
    paper="none",
    training_data="unknown",
)
"""Its dimension, 0, stands for any; both sets must have the same."""


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Encoder:
    """A UsageError: there is no such network."""
    raise UsageError(f"The model {spec.name!r} takes embeddings; it cannot embed audio.")
