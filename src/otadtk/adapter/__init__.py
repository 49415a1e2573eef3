"""Adapters, the learned ground metrics: which ones an encoder has, and where their files are.

Lookup order; the first place that has the adapter wins:

1. the file given with ``--adapter-checkpoint``,
2. ``$OTADTK_CHECKPOINTS/<encoder>/<variant>.safetensors``,
3. the same path below ``adapters`` in the user's cache directory (``otadtk-adapters import``
   writes there),
4. the manifest, ``checkpoints/MANIFEST.json``: the files bundled with otadtk, and the 18 published
   adapters, which are downloaded on demand. It lists their hashes.

Importing this module does not import torch.
"""

from __future__ import annotations

import os
from pathlib import Path

from otadtk.adapter.manifest import BUNDLED, KnownAdapter, known_adapter
from otadtk.weights import adapter_cache

VARIANTS = ("agnostic", "native", "artifact", "perceptual", "raw")
WITH_FEATURES = ("artifact", "perceptual")
"""Variants that take features beside the embedding: they need the audio, or a pack with them."""

__all__ = [
    "BUNDLED",
    "VARIANTS",
    "WITH_FEATURES",
    "KnownAdapter",
    "default_variant",
    "find_adapter",
    "known_adapter",
    "known_variants",
    "user_places",
]


def user_places() -> list[Path]:
    """The user's directories for adapters, first choice first."""
    places = [adapter_cache()]
    if os.environ.get("OTADTK_CHECKPOINTS"):
        places.insert(0, Path(os.environ["OTADTK_CHECKPOINTS"]))
    return places


def find_adapter(encoder: str, variant: str) -> Path | KnownAdapter | None:
    """The user's file for an encoder and variant, else the entry of the manifest."""
    files = (place / encoder / f"{variant}.safetensors" for place in user_places())
    own = next((file for file in files if file.is_file()), None)
    return own if own is not None else known_adapter(encoder, variant)


def known_variants(encoder: str) -> list[str]:
    """The variants that have an adapter trained on this encoder's features."""
    found = ((v, find_adapter(encoder, v)) for v in VARIANTS if v != "raw")
    return [
        variant
        for variant, place in found
        if place is not None and not (isinstance(place, KnownAdapter) and place.misnamed)
    ]


def default_variant(encoder: str, *, compat: str | None = None) -> str:
    """The variant that is used when none is asked for.

    "agnostic" if the user has installed such an adapter; otherwise the one that the manifest marks
    as the default, or "raw".
    """
    if compat is not None:  # otadtk 0.1.2 uses the agnostic adapter wherever it publishes one
        known = known_adapter(encoder, "agnostic")
        return "agnostic" if known is not None and known.member else "raw"
    if isinstance(find_adapter(encoder, "agnostic"), Path):
        return "agnostic"
    marked = (known_adapter(encoder, variant) for variant in VARIANTS)
    return next((known.variant for known in marked if known is not None and known.default), "raw")
