"""The list of clips of a source, small enough for millions of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from otadtk.audio.find import list_audio
from otadtk.audio.inputs import COMPRESSED, Clip, each_channel, find_clips
from otadtk.embed.options import Source
from otadtk.files.remote import absolute, as_path, is_remote, url_of


class AudioFiles(Sequence[Path | Clip]):
    """The clips of a source, each as a worker on any node can open it.

    Of a folder only names are held, and an absolute path is made when it is asked for. With
    ``channels`` every channel of a file is a clip.
    """

    def __init__(self, source: Source, *, recursive: bool, channels: bool = False) -> None:
        one = isinstance(source, (str, Path))
        self._root = as_path(source) if isinstance(source, (str, Path)) else Path()
        self._names: list[str] = []
        found = find_clips(
            self._root if isinstance(source, (str, Path)) else source, recursive=recursive
        )
        if found is None:
            self._names = list_audio(self._root, recursive=recursive)
        if channels:
            found = found or [Clip.of_file(self._root / name) for name in self._names]
            found, self._names = [part for clip in found for part in each_channel(clip)], []
        self.clips = tuple(found or ())
        """The clips, unless the source is a plain folder or file."""
        self.title = (self._root.name or url_of(self._root)) if one else "clips"

    def __len__(self) -> int:
        return len(self._names) or len(self.clips)

    @overload
    def __getitem__(self, index: int) -> Path | Clip: ...
    @overload
    def __getitem__(self, index: slice) -> list[Path | Clip]: ...
    def __getitem__(self, index: int | slice) -> Path | Clip | list[Path | Clip]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self.clips[index] if self.clips else absolute(self._root / self._names[index])

    def as_named(self, index: int) -> Path:
        """The path as the user gave it."""
        return self.clips[index].name if self.clips else self._root / self._names[index]


def check_source(source: Path, *, recursive: bool) -> None:
    """An AudioError if a source is not there, or names no clips: before another one is embedded.

    Folders, remote files and compressed shards, which take long to list, are only looked for.
    """
    if is_remote(source) or source.is_dir():
        return
    if not (source.is_file() and source.name.lower().endswith(COMPRESSED)):
        AudioFiles(source, recursive=recursive)
