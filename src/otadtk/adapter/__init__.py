"""Learned ground metrics: which adapters of an encoder are known, and where each is found.

An adapter is looked for in this order; the first place that has it wins:

1. the file given with ``--adapter-checkpoint``,
2. ``$OTADTK_CHECKPOINTS/<encoder>/<variant>.safetensors``,
3. the same below ``adapters`` in the user's cache directory (``otadtk-adapters import`` puts it there),
4. what is known: the files bundled with otadtk and the published eighteen, which are fetched on
   demand (``checkpoints/MANIFEST.json`` lists them all with their hashes).

Importing this module does not import torch.
"""

from __future__ import annotations

import os
from pathlib import Path

from otadtk.adapter.manifest import BUNDLED, KnownAdapter, known_adapter
from otadtk.weights import cache_directory

VARIANTS = ("agnostic", "native", "artifact", "raw")

__all__ = [
    "BUNDLED",
    "VARIANTS",
    "KnownAdapter",
    "default_variant",
    "find_adapter",
    "known_adapter",
    "known_variants",
    "user_places",
]


def user_places() -> list[Path]:
    """The directories of the user that may hold adapters, in the order in which they count."""
    places = [cache_directory() / "adapters"]
    if os.environ.get("OTADTK_CHECKPOINTS"):
        places.insert(0, Path(os.environ["OTADTK_CHECKPOINTS"]))
    return places


def find_adapter(encoder: str, variant: str) -> Path | KnownAdapter | None:
    """The user's own file of an encoder's adapter, else what the manifest knows of one."""
    files = (place / encoder / f"{variant}.safetensors" for place in user_places())
    own = next((file for file in files if file.is_file()), None)
    return own if own is not None else known_adapter(encoder, variant)


def known_variants(encoder: str) -> list[str]:
    """The variants for which there is an adapter that belongs to this encoder's features."""
    found = ((v, find_adapter(encoder, v)) for v in VARIANTS if v != "raw")
    return [
        variant
        for variant, place in found
        if place is not None and not (isinstance(place, KnownAdapter) and place.misnamed)
    ]


def default_variant(encoder: str, *, compat: str | None = None) -> str:
    """The ground metric of an encoder when none is asked for.

    "agnostic" where the user has put such an adapter, or where the manifest says that the known one
    earns its place; otherwise "raw".
    """
    if compat is not None:  # what that package does: agnostic, where it publishes one
        known = known_adapter(encoder, "agnostic")
        return "agnostic" if known is not None and known.member else "raw"
    place = find_adapter(encoder, "agnostic")
    if isinstance(place, KnownAdapter):
        return "agnostic" if place.default else "raw"
    return "agnostic" if place is not None else "raw"
