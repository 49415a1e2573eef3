"""Learned ground metrics: which adapters of an encoder are at hand, and where.

An adapter ``<encoder>/<variant>.safetensors`` is looked for in ``$OTADTK_CHECKPOINTS``, then in the
user's cache directory, then in the package. Importing this module does not import torch.
"""

from __future__ import annotations

import os
from pathlib import Path

from otadtk.weights import cache_directory

VARIANTS = ("agnostic", "native", "raw")
BUNDLED = Path(__file__).parent.parent / "checkpoints"


def find_adapter(encoder: str, variant: str) -> Path | None:
    """The file of an encoder's adapter, from the first place that has one."""
    places = [cache_directory() / "adapters", BUNDLED]
    if "OTADTK_CHECKPOINTS" in os.environ:
        places.insert(0, Path(os.environ["OTADTK_CHECKPOINTS"]))
    files = (place / encoder / f"{variant}.safetensors" for place in places)
    return next((file for file in files if file.is_file()), None)


def known_variants(encoder: str) -> list[str]:
    """The variants for which an adapter of this encoder is at hand."""
    return [v for v in VARIANTS if v != "raw" and find_adapter(encoder, v) is not None]
