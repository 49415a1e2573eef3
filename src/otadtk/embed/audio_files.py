"""The list of audio files of a source, small enough for millions of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from otadtk.audio.find import list_audio
from otadtk.embed.options import Source
from otadtk.files.remote import absolute, as_path, url_of


class AudioFiles(Sequence[Path]):
    """The files of a source as absolute paths, which workers on any node can open.

    Only names are held; a path is made when it is asked for.
    """

    def __init__(self, source: Source, *, recursive: bool) -> None:
        if isinstance(source, (str, Path)):
            self._root = as_path(source)
            self._names = list_audio(self._root, recursive=recursive)
            self.title = self._root.name or url_of(self._root)
        else:
            self._root, self._names = Path(), [str(as_path(file)) for file in source]
            self.title = "clips"

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> list[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | list[Path]:
        if isinstance(index, slice):
            return [absolute(self._root / name) for name in self._names[index]]
        return absolute(self._root / self._names[index])

    def as_named(self, index: int) -> Path:
        """The path as the user gave it."""
        return self._root / self._names[index]
