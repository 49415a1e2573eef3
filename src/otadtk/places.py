"""Files that are not on this machine: ``s3://``, ``gs://``, ``memory://`` … by fsspec.

A place stays a ``Path`` throughout; ``Path("s3://bucket/key")`` reads ``s3:/bucket/key``, and its
first part says that it is to be asked for elsewhere. Every failure is an ``OSError``.
"""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from otadtk.errors import UsageError

_REMOTE = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def place_of(place: str | Path) -> Path:
    """The path of a place as given: ``file:///folder`` is a folder of this machine."""
    found = _REMOTE.fullmatch(str(place))
    return Path("/" + found[2]) if found is not None and found[1] == "file" else Path(place)


def is_remote(path: Path) -> bool:
    """Whether a path names a place that only fsspec can reach."""
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
    """A local file with the content: the file itself, or a copy that is gone afterwards."""
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


def write_if_absent(path: Path, content: bytes) -> None:
    """Write a remote file; the same content is left alone, other content is replaced.

    Object stores take a file whole or not at all, and where they can refuse to overwrite, of two
    writers the second finds the work done.
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
            except FileNotFoundError:  # a place with real folders, or a bucket that is not there
                bucket = name.partition("/")[0]
                if bucket and not system.exists(bucket):  # a slip of the pen makes none
                    raise
                system.makedirs(system._parent(name), exist_ok=True)
            except (NotImplementedError, ValueError, TypeError):  # it cannot refuse
                break
        system.pipe_file(name, content)


def list_files(path: Path, *, recursive: bool) -> list[str] | None:
    """The names of all files below a remote folder, relative to it; ``[""]`` for a file itself.

    ``None`` where nothing is.
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
    """(the file system of a place, its name there)."""
    try:
        import fsspec
    except ImportError:
        raise UsageError(f'{url_of(path)} needs fsspec: pip install "otadtk[remote]".') from None
    try:
        system, name = fsspec.core.url_to_fs(url_of(path))
    except ImportError as error:
        raise UsageError(f"{url_of(path)} cannot be reached: {error}.") from error
    except ValueError as error:
        raise UsageError(f"{url_of(path)}: {error}.") from error
    return system, name


@contextmanager
def _as_os_errors(path: Path) -> Iterator[None]:
    """Whatever a service raises, as an OSError that names the place."""
    try:
        yield
    except OSError as error:
        if error.strerror is not None:
            raise
        raise OSError(error.errno or errno.ENOENT, _one_line(error)) from error
    except Exception as error:  # each service has a family of its own
        raise OSError(errno.EIO, f"{type(error).__name__}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
