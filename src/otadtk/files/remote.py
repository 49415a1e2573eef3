"""Remote files, reached by fsspec: ``s3://``, ``gs://``, ``memory://`` and others.

An address is a ``Path`` throughout the library: ``Path("s3://bucket/key")`` becomes
``s3:/bucket/key``, and its first part tells that it is remote. Every failure is an ``OSError``.
"""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from otadtk.errors import UsageError

_REMOTE = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def as_path(source: str | Path) -> Path:
    """The path of a file, folder or URL; ``file:///folder`` is a folder of this machine."""
    found = _REMOTE.fullmatch(str(source))
    return Path("/" + found[2]) if found is not None and found[1] == "file" else Path(source)


def is_remote(path: Path) -> bool:
    """Whether only fsspec can reach a path."""
    return _REMOTE.fullmatch(str(path)) is not None


def url_of(path: Path) -> str:
    """A path as the user wrote it, with two slashes behind the protocol."""
    found = _REMOTE.fullmatch(str(path))
    return str(path) if found is None else f"{found[1]}://{found[2]}"


def absolute(path: Path) -> Path:
    """The path as other processes can read it."""
    return path if is_remote(path) else path.absolute()


@contextmanager
def fetched(path: Path) -> Iterator[Path]:
    """A local file with the content: the file itself, or a temporary copy."""
    if not is_remote(path):
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="otadtk-", suffix=path.suffix) as copy:
        system, name = _system(path)
        with _as_os_errors(path):
            system.get_file(name, copy.name)
        yield Path(copy.name)


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    if not is_remote(path):
        return path.read_bytes()
    system, name = _system(path)
    with _as_os_errors(path):
        content: bytes = system.cat_file(name)
    return content


def read_range(path: Path, offset: int, size: int) -> bytes:
    """The bytes of a file from a place on; fewer if it ends before."""
    if not is_remote(path):
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    system, name = _system(path)
    with _as_os_errors(path):
        content: bytes = system.cat_file(name, start=offset, end=offset + size)
    return content


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to read from any place; of a remote one only what is read is fetched."""
    if not is_remote(path):
        with path.open("rb") as file:
            yield file
        return
    system, name = _system(path)
    with _as_os_errors(path):
        remote = system.open(name, "rb")
    with remote:
        yield remote


def glob_files(pattern: Path) -> list[Path]:
    """The remote files that match a pattern."""
    system, name = _system(pattern)
    with _as_os_errors(pattern):
        found = system.glob(name)
    return [Path(system.unstrip_protocol(file)) for file in found]


def write_if_absent(path: Path, content: bytes) -> None:
    """Write a remote file; the same content is left alone, other content is replaced.

    Object stores write a file atomically. Where they can refuse to overwrite, the second of two
    writers finds the file there.
    """
    system, name = _system(path)
    with _as_os_errors(path):
        for _ in range(2):
            try:
                system.pipe_file(name, content, mode="create")
                return
            except FileExistsError:
                if system.cat_file(name) == content:
                    return
                break
            except FileNotFoundError:  # real folders, or a missing bucket
                bucket = name.partition("/")[0]
                if bucket and not system.exists(bucket):  # a misspelt bucket is not created
                    raise
                system.makedirs(system._parent(name), exist_ok=True)
            except (NotImplementedError, ValueError, TypeError):  # this service cannot refuse
                break
        system.pipe_file(name, content)


def list_files(path: Path, *, recursive: bool) -> list[str] | None:
    """The names of all files below a remote folder, relative to it; ``[""]`` for a file itself.

    ``None`` if there is neither.
    """
    system, name = _system(path)
    with _as_os_errors(path):
        if not system.exists(name):
            return None
        if system.isfile(name):
            return [""]
        found = system.find(name, maxdepth=None if recursive else 1)
    start = len(name.rstrip("/")) + 1
    return [file[start:] for file in found]


def _system(path: Path) -> tuple[Any, str]:
    """(the file system of a path, the name of the file there)."""
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            f'{url_of(path)} needs fsspec: pip install "otadtk-audio[remote]".'
        ) from None
    try:
        system, name = fsspec.core.url_to_fs(url_of(path))
    except ImportError as error:
        raise UsageError(f"{url_of(path)} cannot be reached: {error}.") from error
    except ValueError as error:
        raise UsageError(f"{url_of(path)}: {error}.") from error
    return system, name


@contextmanager
def _as_os_errors(path: Path) -> Iterator[None]:
    """Turn whatever a service raises into an OSError."""
    try:
        yield
    except OSError as error:
        if error.strerror is not None:
            raise
        raise OSError(error.errno or errno.ENOENT, _one_line(error)) from error
    except Exception as error:  # each service has its own exceptions
        raise OSError(errno.EIO, f"{type(error).__name__}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
