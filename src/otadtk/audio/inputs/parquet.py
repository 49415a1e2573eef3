"""Clips inside Parquet tables, as Hugging Face datasets have them: a column of {bytes, path}.

Only names and facts are read for the list. The bytes come one row group at a time, when its first clip
is read.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from otadtk.audio.inputs.clip import COLUMNS, Clip, excerpt_name
from otadtk.audio.inputs.manifest import TIMES, excerpt_of, facts_of
from otadtk.errors import AudioError, UsageError
from otadtk.files.remote import absolute, is_remote, open_file, url_of

_AUDIO = "audio"
_GROUPS_HELD = 2
"""Row groups in memory: clips come in order, so that neighbours find theirs there."""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class ParquetRow:
    """A cell of a column of audio."""

    column: str
    group: int
    """The row group."""
    row: int
    """Within the group."""

    def read(self, holder: Path) -> bytes:
        """The bytes of the clip."""
        with _lock:  # of several threads one reads a group, and the others find it
            cells = _cells(holder, self.column, self.group, _written(holder))
        cell = cells[self.row].as_py()
        content = cell.get("bytes") if isinstance(cell, dict) else cell
        if not content:
            raise AudioError(f"its row in {url_of(holder)} has no bytes")
        found: bytes = content
        return found


def holds_clips(path: Path) -> bool:
    """Whether a Parquet file has a column of audio and none of embeddings."""
    pyarrow, parquet = load_pyarrow()
    try:
        with open_file(path) as file:
            schema = parquet.ParquetFile(file).schema_arrow
    except (pyarrow.ArrowException, OSError, ValueError):
        return False  # whoever reads it says why
    return "embedding" not in schema.names and bool(_audio_columns(schema))


def parquet_clips(path: Path) -> list[Clip]:
    """The clips of a table in the order of its rows."""
    pyarrow, parquet = load_pyarrow()
    try:
        with open_file(path) as file:
            table = parquet.ParquetFile(file)
            schema = table.schema_arrow
            column = _audio_column(path, schema)
            wanted = [name for name in (*TIMES, *COLUMNS) if name in schema.names]
            named = pyarrow.types.is_struct(schema.field(column).type) and any(
                inner.name == "path" for inner in schema.field(column).type
            )
            wanted += [f"{column}.path"] if named else []
            sizes = [table.metadata.row_group(g).num_rows for g in range(table.num_row_groups)]
            rows = table.read(columns=wanted).to_pylist() if wanted else [{}] * sum(sizes)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise AudioError(f"{url_of(path)} is not a Parquet table: {why}") from error
    places = [(group, row) for group, size in enumerate(sizes) for row in range(size)]
    if not places:
        raise AudioError(f"{url_of(path)} lists no clips.")
    names = _names([(row.get(column) or {}).get("path") for row in rows])
    clips = []
    for number, (name, row, (group, within)) in enumerate(zip(names, rows, places, strict=True)):
        where = f"{url_of(path)}, row {number}"
        excerpt = excerpt_of(row, where)
        shown = excerpt_name(path / name, excerpt)
        member = ParquetRow(column, group, within)
        clips.append(Clip(shown, absolute(path), member, excerpt, facts_of(row, where)))
    return clips


def load_pyarrow() -> tuple[Any, Any]:
    """(pyarrow, its Parquet module); a UsageError without them."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            'Parquet files need pyarrow, which is not installed: pip install "otadtk-audio[parquet]".'
        ) from error
    return pyarrow, parquet


@lru_cache(maxsize=_GROUPS_HELD)
def _cells(path: Path, column: str, group: int, written: int) -> Any:
    """The audio of a row group of a file that was written at that time."""
    pyarrow, parquet = load_pyarrow()
    try:
        with open_file(path) as file:
            return parquet.ParquetFile(file).read_row_group(group, columns=[column]).column(column)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise AudioError(f"its row in {url_of(path)} cannot be read: {why}") from error


def _written(path: Path) -> int:
    return 0 if is_remote(path) else path.stat().st_mtime_ns


def _audio_columns(schema: Any) -> list[str]:
    """The columns that hold bytes, alone or beside a path."""
    import pyarrow

    def is_bytes(kind: Any) -> bool:
        return bool(pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind))

    def is_audio(kind: Any) -> bool:
        if pyarrow.types.is_struct(kind):
            return any(inner.name == "bytes" and is_bytes(inner.type) for inner in kind)
        return is_bytes(kind)

    return [field.name for field in schema if is_audio(field.type)]


def _audio_column(path: Path, schema: Any) -> str:
    found = _audio_columns(schema)
    if _AUDIO in found:
        return _AUDIO
    if len(found) == 1:
        return found[0]
    listed = ", ".join(schema.names)
    if not found:
        raise AudioError(
            f"{url_of(path)} has no column of audio ({{bytes, path}}); it has: {listed}."
        )
    raise AudioError(
        f"{url_of(path)} has several columns of bytes, {', '.join(found)}: name the one of the clips "
        f"{_AUDIO!r}."
    )


def _names(paths: list[str | None]) -> list[str]:
    """A name for each row: that of its file, with the number of the row where it is not unique."""
    names = [str(path).replace("\\", "/").rpartition("/")[2] if path else "" for path in paths]
    several = {name for name, times in Counter(names).items() if times > 1}
    return [
        f"{number:06d}{'-' if name else ''}{name}" if not name or name in several else name
        for number, name in enumerate(names)
    ]
