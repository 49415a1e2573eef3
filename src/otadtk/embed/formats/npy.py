"""Embeddings in one numpy array, ``.npy``.

Nothing is unpickled, and the header is not trusted: a file must hold as many bytes as it promises.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.precomputed import check_vectors, precomputed_set
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError

_HEADERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


def read_npy_file(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The rows of one array."""
    return precomputed_set(path, check_vectors(load_npy(path), path, spec), frames=frames)


def npy_bytes(embedded: EmbeddingSet, names: Sequence[str], spec: EncoderSpec) -> bytes:
    """The file of a set: its vectors alone."""
    content = io.BytesIO()
    np.save(content, embedded.vectors, allow_pickle=False)
    return content.getvalue()


def load_npy(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file."""
    try:
        with path.open("rb") as file:
            return read_array(file, path.stat().st_size)
    except (ValueError, OSError, EOFError) as error:
        raise AudioError(
            f"{path} is not a numpy array that can be read: {first_line(error)}"
        ) from error


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array in a stream of ``size`` bytes; a ValueError if it is not sound."""
    try:
        version = npy_format.read_magic(file)
        shape, by_column, dtype = _HEADERS[version](file)
    except Exception as error:  # numpy evaluates the header's text, which may raise anything
        raise ValueError(f"its header cannot be read ({type(error).__name__})") from error
    if dtype.kind not in "fiuU":
        raise ValueError(f"it holds {dtype}, not numbers or text (pickles are never loaded)")
    if any(type(length) is not int for length in shape):  # numpy takes True for 1
        raise ValueError(f"its shape {shape} is not one of whole numbers")
    bytes_ = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or bytes_ > size:
        raise ValueError(f"it promises {bytes_} bytes and holds {size} at most")
    content = file.read(bytes_)
    if len(content) < bytes_:
        raise ValueError("it ends early")
    flat = np.frombuffer(content, dtype=dtype) if bytes_ else np.zeros(0, dtype=dtype)
    return flat.reshape(shape, order="F" if by_column else "C")


def first_line(error: Exception) -> str:
    """The first line of an error's message, with one full stop."""
    return str(error).partition("\n")[0].rstrip(".") + "."
