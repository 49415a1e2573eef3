"""Finds audio files in folders, here or behind a URL."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from otadtk.errors import AudioError
from otadtk.files.remote import is_remote, list_files, url_of

logger = logging.getLogger(__name__)

LIBSNDFILE_SUFFIXES = frozenset(
    {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".caf"}
)
PYAV_SUFFIXES = frozenset({".m4a", ".aac", ".webm", ".mp4"})
AUDIO_SUFFIXES = LIBSNDFILE_SUFFIXES | PYAV_SUFFIXES

CACHE_FOLDERS = frozenset(
    {"convert", "embeddings", "embedding", "fad_stats", "kernel_stats", "stats"}
)
"""Where kadtk, fadtk and otadtk 0.1.2 keep their caches, converted audio among them."""


def find_audio(path: Path, *, recursive: bool = True, caches_expected: bool = False) -> list[Path]:
    """Audio files below a folder in a stable order, or the file itself; see ``list_audio``."""
    names = list_audio(path, recursive=recursive, caches_expected=caches_expected)
    return [path / name for name in names]


def list_audio(path: Path, *, recursive: bool = True, caches_expected: bool = False) -> list[str]:
    """The names of the audio files below a folder in a stable order; of a file, ``[""]``.

    Hidden files and the cache folders of kadtk, fadtk and otadtk 0.1.2 are left out; the log names
    such caches unless they are expected. Symbolic links are followed, each folder once. Names are
    text: a million of them take 0.1 GB.
    """
    if is_remote(path):
        found = _remote_names(path, recursive)
    else:
        found = _local_names(path, recursive, caches_expected)
    if found is None:
        raise AudioError(f"There is no file or folder {url_of(path)}.")
    names = sorted(found, key=name_order)
    if not names:
        hint = "" if recursive else " (subfolders were left out by --no-recursive)"
        known = " ".join(sorted(suffix[1:] for suffix in AUDIO_SUFFIXES))
        raise AudioError(f"There are no audio files in {url_of(path)}{hint}; known types: {known}.")
    return names


def name_order(name: str) -> str:
    """The key that sorts names folder by folder: no character sorts before this separator."""
    return name.replace(os.sep, "\0")


def _local_names(path: Path, recursive: bool, caches_expected: bool) -> Iterable[str] | None:
    if path.is_file():
        return [""]
    return _walk(path, recursive, caches_expected) if path.is_dir() else None


def _remote_names(path: Path, recursive: bool) -> Iterable[str] | None:
    try:
        names = list_files(path, recursive=recursive)
    except OSError as error:
        raise AudioError(f"{url_of(path)} cannot be listed: {error.strerror}") from error
    if names is None or names == [""]:
        return names
    return (
        name for name in names if is_audio_name(name.rpartition("/")[2]) and not _is_left_out(name)
    )


def _is_left_out(name: str) -> bool:
    """Whether a file is in a hidden folder or in another tool's cache."""
    return any(part in CACHE_FOLDERS or part.startswith(".") for part in name.split("/")[:-1])


def is_audio_name(name: str) -> bool:
    """Whether a file of that name is audio that counts: hidden files do not."""
    return not name.startswith(".") and Path(name).suffix.lower() in AUDIO_SUFFIXES


def holds_audio(folder: Path) -> bool:
    """Whether there is an audio file below a folder."""
    return next(_walk(folder, recursive=True, caches_expected=True), None) is not None


def _walk(root: Path, recursive: bool, caches_expected: bool) -> Iterator[str]:
    seen: set[tuple[int, int]] = set()
    for folder, subfolders, names in os.walk(root, followlinks=True):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen:  # a loop of symbolic links
            subfolders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        caches = sorted(CACHE_FOLDERS.intersection(subfolders))
        if caches and not caches_expected:
            what = "%s: %s left out as other tools' caches"
            logger.info(what, folder, ", ".join(caches))
        kept = [n for n in subfolders if n not in CACHE_FOLDERS and not n.startswith(".")]
        subfolders[:] = sorted(kept) if recursive else []
        within = Path(folder).relative_to(root)
        before = "" if within == Path() else f"{within}{os.sep}"
        yield from (before + name for name in names if is_audio_name(name))
