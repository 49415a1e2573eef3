"""Where a set of embeddings comes from: audio, files of embeddings, packs, other tools' caches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from otadtk.audio import holds_audio
from otadtk.embed import EmbeddingSet, LazyEncoder, OnError, embed
from otadtk.encoders.given import GIVEN
from otadtk.engine import Engine
from otadtk.errors import AudioError, UsageError
from otadtk.places import is_remote, place_of
from otadtk.sources.arrays import read_array_folder, read_npy_file, read_npz_file
from otadtk.sources.caches import read_cache
from otadtk.sources.pack import PACK_SUFFIX, read_pack
from otadtk.sources.table import read_parquet
from otadtk.store import EmbeddingStore

_READERS = {
    ".npy": read_npy_file,
    ".npz": read_npz_file,
    ".parquet": read_parquet,
    PACK_SUFFIX: read_pack,
}


def load_set(
    place: str | Path | Sequence[str | Path],
    encoder: LazyEncoder,
    store: EmbeddingStore,
    *,
    frames: str | None = None,
    import_cache: str | None = None,
    recursive: bool = True,
    workers: int | None = None,
    engine: Engine | None = None,
    force: bool = False,
    on_error: OnError = "fail",
) -> EmbeddingSet:
    """The set at a place, whatever holds it.

    ``frames`` asks for frames instead of clip vectors, and says whose; ``import_cache`` names the
    tool whose cache beside the audio is to be read.
    """
    spec = encoder.spec
    if isinstance(place, (str, Path)):
        place = place_of(place)
        if holds_embeddings(place):
            read = read_array_folder if place.is_dir() else _READERS[place.suffix.lower()]
            return read(place, spec, frames)
        if import_cache is not None:
            return read_cache(place, spec, import_cache, recursive=recursive)
    if spec.name == GIVEN.name:
        if isinstance(place, Path) and not is_remote(place) and not place.exists():
            raise AudioError(f"There is no file or folder {place}.")
        raise UsageError(f"The model {GIVEN.name!r} takes embeddings, and {place} holds none.")
    return embed(
        *(place, encoder, store),
        recursive=recursive,
        workers=workers,
        engine=engine,
        force=force,
        on_error=on_error,
        kind="clip" if frames is None else "frames",
    )


def holds_embeddings(place: Path) -> bool:
    """Whether a file, or a folder without audio, is one of embeddings."""
    if place.is_dir():
        return any(place.rglob("*.npy")) and not holds_audio(place)
    return place.is_file() and place.suffix.lower() in _READERS
