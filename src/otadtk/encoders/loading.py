"""From a spec to a loaded network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.encoders.named_object import load_object
from otadtk.encoders.registry import get_spec
from otadtk.encoders.spec import Encoder, EncoderSpec
from otadtk.errors import UsageError

if TYPE_CHECKING:
    import torch


def load_encoder(spec: EncoderSpec, device: torch.device, weights: Path | None = None) -> Encoder:
    """The network of a spec, with its weights (the user's copy, if given), ready to encode."""
    if weights is not None and not spec.weights:
        raise UsageError(f"{spec.name!r} takes no --weights: it has no published weight file.")
    encoder: Encoder = load_object(spec.loader)(spec, device, weights)
    return encoder


def get_encoder(
    name: str, device: str | None = None, *, weights: str | Path | None = None
) -> Encoder:
    """The loaded encoder of that name; ``.encode(wav, sr)`` gives the vector of one clip.

    ``wav`` has shape (samples,) or (1, samples) and the rate ``sr`` in Hz; the vector has shape (d,).
    ``weights`` is your own copy of the published weights.

    Raises:
        UsageError: There is no encoder of that name.
        WeightsError: Its weights are missing, damaged, or those of another encoder.

    Examples:
        >>> import torch
        >>> from otadtk import get_encoder
        >>> get_encoder("logmel").encode(torch.zeros(1, 16_000), 16_000).shape
        (128,)
    """
    from otadtk.device import resolve_device

    user_copy = Path(weights) if weights is not None else None
    return load_encoder(get_spec(name), resolve_device(device), user_copy)
