"""From what the user names to clips."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from otadtk.audio.find import find_audio, is_audio_name, name_order
from otadtk.audio.inputs.clip import Clip
from otadtk.audio.inputs.compressed import COMPRESSED
from otadtk.audio.inputs.manifest import MANIFEST_SUFFIXES, read_list, read_manifest
from otadtk.audio.inputs.parquet import holds_clips, parquet_clips
from otadtk.audio.inputs.tar import tar_clips
from otadtk.errors import AudioError
from otadtk.files.remote import as_path, glob_files, is_remote, url_of

LIST_MARK = "@"
_TARS = (".tar", *COMPRESSED)
_TABLE = ".parquet"
_UNKNOWN = ".tar.zst"


def find_clips(
    source: Path | Sequence[str | Path | Clip], *, recursive: bool = True
) -> list[Clip] | None:
    """The clips of a source; ``None`` for a plain folder or audio file.

    A source is a glob, a list ``@files.txt``, a manifest (.csv, .tsv, .jsonl), a shard (.tar,
    .tar.gz, .parquet), a folder of shards, or a sequence of audio files and shards.
    """
    if not isinstance(source, Path):
        return [clip for one in source for clip in _of_item(one)]
    name = str(source)
    if name.startswith(LIST_MARK):
        return [clip for file in read_list(as_path(name[1:])) for clip in _of_item(file)]
    if glob.has_magic(name) and (is_remote(source) or not source.exists()):
        return _of_glob(source, recursive)
    if name.lower().endswith(_UNKNOWN):
        raise AudioError(f"{url_of(source)} is packed with zstd: take .tar or .tar.gz instead.")
    if source.suffix.lower() in MANIFEST_SUFFIXES:
        return read_manifest(source)
    if _is_shard(source):
        return _of_item(source)
    return _of_shards(source) if not is_remote(source) and source.is_dir() else None


def may_have_columns(source: Path) -> bool:
    """Whether something may be known of the clips beside their names: not of folders and files."""
    folder = not is_remote(source) and source.is_dir() and _of_shards(source) is not None
    return folder or source.suffix.lower() in MANIFEST_SUFFIXES or _is_shard(source)


def _is_shard(path: Path) -> bool:
    return path.name.lower().endswith((*_TARS, _TABLE))


def _of_item(item: str | Path | Clip) -> list[Clip]:
    """The clips of a shard; of anything else, the file as a clip."""
    if isinstance(item, Clip):
        return [item]
    path = as_path(item)
    if path.name.lower().endswith(_TARS):
        return tar_clips(path)
    return parquet_clips(path) if path.suffix.lower() == _TABLE else [Clip.of_file(path)]


def _of_glob(pattern: Path, recursive: bool) -> list[Clip]:
    """The audio files and shards that match a pattern, and the audio in folders that do."""
    if is_remote(pattern):
        try:
            found = glob_files(pattern)
        except OSError as error:
            raise AudioError(f"{url_of(pattern)} cannot be listed: {error.strerror}") from error
    else:
        found = [Path(name) for name in glob.glob(str(pattern), recursive=True)]  # noqa: PTH207
    if not found:
        raise AudioError(f"No file matches {url_of(pattern)}.")
    clips: list[Clip] = []
    for path in sorted(found, key=lambda path: name_order(str(path))):
        if not is_remote(path) and path.is_dir():
            if "**" not in pattern.parts:  # which names the files below by themselves
                clips += map(Clip.of_file, find_audio(path, recursive=recursive))
        elif is_audio_name(path.name) or _is_shard(path):
            clips += _of_item(path)
    if not clips:
        raise AudioError(f"None of the {len(found)} files that match {url_of(pattern)} is audio.")
    return clips


def _of_shards(folder: Path) -> list[Clip] | None:
    """The clips of the shards in a folder that holds no other files of audio."""
    shards = [file for file in sorted(folder.iterdir()) if _is_shard(file)]
    if not shards or any(is_audio_name(file.name) for file in folder.iterdir()):
        return None
    shards = [file for file in shards if file.suffix.lower() != _TABLE or holds_clips(file)]
    return [clip for shard in shards for clip in _of_item(shard)] or None
