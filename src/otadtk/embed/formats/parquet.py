"""Embeddings in a Parquet table: a column ``embedding`` of lists, ``file`` if clips have names.

A table that otadtk wrote also has the SHA-256 of each file, ``digest``, and names its encoder.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from otadtk.audio.inputs.parquet import load_pyarrow
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.precomputed import check_vectors, columns_for, precomputed_set
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError

_EMBEDDING, _FILE, _DIGEST = "embedding", "file", "digest"
_MODEL, _ENCODER = b"otadtk.model", b"otadtk.encoder"


def read_parquet(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The set in a table, a row for each clip."""
    pyarrow, parquet = load_pyarrow()
    try:
        table = parquet.read_table(path)
        if _EMBEDDING not in table.column_names:
            raise AudioError(
                f"{path} has neither a column {_EMBEDDING!r} nor one of audio ({{bytes, path}}); it "
                f"has: {', '.join(table.column_names)}."
            )
        column_type = table.column(_EMBEDDING).type
        values = getattr(column_type, "value_type", column_type)
        if not (pyarrow.types.is_floating(values) or pyarrow.types.is_integer(values)):
            raise AudioError(f"{path} has embeddings of {column_type}, not lists of numbers.")
        rows = table.column(_EMBEDDING).to_pylist()
        array = np.array(rows, dtype=np.float64)
        names, digests = (
            [str(text) for text in table.column(column).to_pylist()]
            if column in table.column_names
            else None
            for column in (_FILE, _DIGEST)
        )
        about = table.schema.metadata or {}
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        why = str(error).partition("\n")[0]
        raise AudioError(f"{path} is not a table of embeddings: {why}") from error
    if _ENCODER in about:
        made_by = about.get(_MODEL, b"").decode("utf-8", "replace")
        made_with = about[_ENCODER].decode("utf-8", "replace")
        columns = columns_for(path, made_with, spec, made_by)
        array = array[:, columns] if array.ndim == 2 else array
    vectors = check_vectors(array, path, spec)
    return precomputed_set(path, vectors, names=names, digests=digests, frames=frames)


def parquet_bytes(embedded: EmbeddingSet, names: Sequence[str], spec: EncoderSpec) -> bytes:
    """The Parquet file of a set."""
    pyarrow, parquet = load_pyarrow()
    texts = [name.encode("utf-8", "backslashreplace").decode() for name in names]
    columns = {_FILE: texts, _DIGEST: embedded.digests, _EMBEDDING: list(embedded.vectors)}
    table = pyarrow.table(columns)
    about = {_MODEL: spec.name, _ENCODER: spec.fingerprint}
    content = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(about), content)
    return content.getvalue()
