"""The table of file formats: which suffix is read and written by which functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from otadtk.audio.find import holds_audio
from otadtk.audio.inputs.parquet import holds_clips
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.array_folder import read_array_folder
from otadtk.embed.formats.npy import npy_bytes, read_npy_file
from otadtk.embed.formats.npz import npz_bytes, read_npz_file
from otadtk.embed.formats.pack import PACK_SUFFIX, pack_bytes, read_pack
from otadtk.embed.formats.parquet import parquet_bytes, read_parquet
from otadtk.encoders import EncoderSpec
from otadtk.errors import UsageError
from otadtk.files.atomic import replacing


@dataclass(frozen=True)
class Format:
    """How one kind of file is read and written."""

    read: Callable[[Path, EncoderSpec, str | None], EmbeddingSet]
    """From a path, the encoder that must have made it, and whose frames are wanted."""
    content: Callable[[EmbeddingSet, Sequence[str], EncoderSpec], bytes]
    """The bytes of a set, with the names of its clips."""


FORMATS = {
    ".npy": Format(read_npy_file, npy_bytes),
    ".npz": Format(read_npz_file, npz_bytes),
    ".parquet": Format(read_parquet, parquet_bytes),
    PACK_SUFFIX: Format(read_pack, pack_bytes),
}


def holds_embeddings(path: Path) -> bool:
    """Whether a file, or a folder without audio, is one of embeddings."""
    if path.is_dir():
        return any(path.rglob("*.npy")) and not holds_audio(path)
    if not path.is_file() or path.suffix.lower() not in FORMATS:
        return False
    return path.suffix.lower() != ".parquet" or not holds_clips(path)


def read_embeddings(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The set in a file or folder of embeddings."""
    if path.is_dir():
        return read_array_folder(path, spec, frames)
    return FORMATS[path.suffix.lower()].read(path, spec, frames)


def export_set(embedded: EmbeddingSet, source: Path, path: Path, spec: EncoderSpec) -> Path:
    """Write the set of a source to ``path``; the names of the clips are relative to the source."""
    check_export(path)
    root = source if source.is_dir() else source.parent
    names = [str(_below(file, root)) for file in embedded.files]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(FORMATS[path.suffix.lower()].content(embedded, names, spec))
    return path


def _below(file: Path, root: Path) -> Path:
    return file.relative_to(root) if file.is_relative_to(root) else file


def check_export(path: Path) -> None:
    """Nothing, if the suffix names a known format; else a UsageError."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path} must end in one of {', '.join(FORMATS)}.")
