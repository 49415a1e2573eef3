"""Compressed files, read forwards: what is asked for in order is unpacked once."""

from __future__ import annotations

import bz2
import gzip
import lzma
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from otadtk.errors import AudioError
from otadtk.files.remote import is_remote, open_file, url_of

_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}
COMPRESSED = tuple(_OPENERS)
"""How the names of compressed shards end."""
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError)
_CHUNK = 1 << 20


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The content of a compressed file, to be read from its beginning."""
    ending = next(ending for ending in COMPRESSED if path.name.lower().endswith(ending))
    with open_file(path) as file, _OPENERS[ending](file) as content:
        try:
            yield content
        except _DAMAGE as error:
            raise AudioError(f"{url_of(path)} is damaged: {error}.") from error


def read_unpacked(path: Path, offset: int, size: int) -> bytes:
    """The bytes from a place on in the content of a compressed file; fewer if it ends before.

    Each thread goes on where it stopped, and begins anew to read what lies before that.
    """
    written = 0 if is_remote(path) else path.stat().st_mtime_ns
    stream = getattr(_threads, "stream", None)
    if stream is None or (stream.path, stream.written) != (path, written) or offset < stream.place:
        stream = _threads.stream = _Stream(path, written)
    found: bytes = stream.read(offset, size)
    return found


class _Stream:
    """The content of a compressed file as far as it was read."""

    def __init__(self, path: Path, written: int) -> None:
        self.path, self.written, self.place = path, written, 0
        self._open = ExitStack()
        self._content = self._open.enter_context(unpacked(path))

    def read(self, offset: int, size: int) -> bytes:
        try:
            while self.place < offset and self._take(min(_CHUNK, offset - self.place)):
                pass
            return self._take(size)
        except _DAMAGE as error:
            raise AudioError(f"{url_of(self.path)} is damaged: {error}.") from error

    def _take(self, size: int) -> bytes:
        found = self._content.read(size)
        self.place += len(found)
        return found

    def __del__(self) -> None:
        self._open.close()


_threads = threading.local()
