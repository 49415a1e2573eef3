"""Writes a set of embeddings to one file, in the format that its name says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from otadtk.atomic import replacing
from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.errors import UsageError
from otadtk.sources.arrays import DIGESTS, EMBEDDINGS, ENCODER, MODEL, NAMES
from otadtk.sources.pack import PACK_SUFFIX, pack_bytes
from otadtk.sources.table import parquet_bytes

EXPORTS = (".npy", ".npz", ".parquet", PACK_SUFFIX)


def export_set(embedded: EmbeddingSet, place: Path, path: Path, spec: EncoderSpec) -> Path:
    """Write the set of a place; the names of the clips are relative to it."""
    check_export(path)
    root = place if place.is_dir() else place.parent
    names = [str(file.relative_to(root)) for file in embedded.files]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(_content(embedded, names, path.suffix.lower(), spec))
    return path


def check_export(path: Path) -> None:
    """Nothing, if the name says a known format; else a UsageError."""
    if path.suffix.lower() not in EXPORTS:
        raise UsageError(f"{path} must end in one of {', '.join(EXPORTS)}.")


def _content(embedded: EmbeddingSet, names: list[str], suffix: str, spec: EncoderSpec) -> bytes:
    if suffix == PACK_SUFFIX:
        return pack_bytes(embedded, names, spec)
    if suffix == ".parquet":
        return parquet_bytes(embedded, names, spec)
    content = io.BytesIO()
    if suffix == ".npy":
        np.save(content, embedded.vectors, allow_pickle=False)
    else:
        arrays: dict[str, Any] = {
            EMBEDDINGS: embedded.vectors,
            NAMES: np.array(names),
            DIGESTS: np.array(embedded.digests),
            MODEL: np.array(spec.name),
            ENCODER: np.array(spec.fingerprint),
        }
        np.savez(content, **arrays)
    return content.getvalue()
