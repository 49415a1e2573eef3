"""Embeddings in a Parquet table: a column ``embedding`` of lists, and ``file`` if clips have names."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError, UsageError
from otadtk.sources.given import check_vectors, given_set

_EMBEDDING, _FILE = "embedding", "file"


def read_parquet(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The set in a table, a row for each clip."""
    pyarrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(path)
        if _EMBEDDING not in table.column_names:
            raise AudioError(
                f"{path} has no column {_EMBEDDING!r}; it has: {', '.join(table.column_names)}."
            )
        rows = table.column(_EMBEDDING).to_pylist()
        array = np.array(rows, dtype=np.float64)
        names = None
        if _FILE in table.column_names:
            names = [str(name) for name in table.column(_FILE).to_pylist()]
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise AudioError(f"{path} is not a table of embeddings: {why}") from error
    return given_set(path, check_vectors(array, path, spec), names=names, frames=frames)


def parquet_bytes(embedded: EmbeddingSet, names: list[str], spec: EncoderSpec) -> bytes:
    """The Parquet file of a set."""
    pyarrow, parquet = _pyarrow()
    texts = [name.encode("utf-8", "backslashreplace").decode() for name in names]
    table = pyarrow.table({_FILE: texts, _EMBEDDING: list(embedded.vectors)})
    about = {"otadtk.model": spec.name, "otadtk.encoder": spec.fingerprint}
    content = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(about), content)
    return content.getvalue()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            'Parquet files need pyarrow, which is not installed: pip install "otadtk[parquet]".'
        ) from error
    return pyarrow, parquet
