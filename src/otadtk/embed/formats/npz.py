"""Embeddings in a numpy archive, ``.npz``: vectors with names, or a mean and a covariance."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.moments import find_moments, moments_set
from otadtk.embed.formats.npy import first_line, read_array
from otadtk.embed.formats.precomputed import check_vectors, columns_for, precomputed_set
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError

_EMBEDDINGS, _NAMES, _DIGESTS = "embeddings", "names", "digests"
_MODEL, _ENCODER = "model", "encoder"
_UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a corrupted archive may raise."""


def read_npz_file(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The array ``embeddings`` with its ``names``, or a mean and a covariance."""
    arrays = _load_npz(path)
    moments = find_moments(path, arrays, spec, frames)
    if moments is not None:
        return moments_set(path, *moments, spec)
    columns: slice | NDArray[np.int64] = slice(None)
    if _ENCODER in arrays:
        columns = columns_for(path, str(arrays[_ENCODER]), spec, str(arrays.get(_MODEL, "")))
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if _EMBEDDINGS in arrays:
        key = _EMBEDDINGS
    elif len(matrices) == 1:
        key = matrices[0]
    else:
        raise AudioError(
            f"{path} has no array named {_EMBEDDINGS!r}, and not just one of two dimensions; "
            f"it holds: {', '.join(sorted(arrays)) or 'nothing'}."
        )
    array = arrays[key]
    return precomputed_set(
        path,
        check_vectors(array[:, columns] if array.ndim == 2 else array, path, spec),
        names=_texts(arrays, _NAMES),
        digests=_texts(arrays, _DIGESTS),
        frames=frames,
    )


def npz_bytes(embedded: EmbeddingSet, names: Sequence[str], spec: EncoderSpec) -> bytes:
    """The archive of a set."""
    arrays: dict[str, Any] = {
        _EMBEDDINGS: embedded.vectors,
        _NAMES: np.array(names),
        _DIGESTS: np.array(embedded.digests),
        _MODEL: np.array(spec.name),
        _ENCODER: np.array(spec.fingerprint),
    }
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def _texts(arrays: dict[str, NDArray[Any]], name: str) -> list[str] | None:
    """The texts of an array; ``None`` if the archive has no such array."""
    if name not in arrays:
        return None
    texts: list[str] = arrays[name].astype(str).ravel().tolist()
    return texts


def _load_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file by name."""
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    name = member.filename.removesuffix(".npy")
                    arrays[name] = read_array(file, member.file_size)
    except _UNREADABLE as error:
        raise AudioError(
            f"{path} is not a numpy archive that can be read: {first_line(error)}"
        ) from error
    return arrays
