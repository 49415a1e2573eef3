"""Reads checkpoints that Python 2 or torch before 1.6 wrote, without running code from them.

Such a file is four pickles (a magic number, the version, facts on the machine, the content), the
list of storages, and their raw numbers. torch's safe reader refuses the text opcodes of Python 2.
Here a pickle may name ordered dictionaries, storages and tensors, and nothing else.
"""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch

_HEAD = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
"""The first pickle of such a file: torch's magic number."""
_STORAGES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
}


@dataclass(frozen=True)
class _StorageType:
    dtype: torch.dtype


@dataclass(frozen=True)
class _Place:
    """A tensor whose numbers come later in the file."""

    storage: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def is_legacy(path: Path) -> bool:
    """Whether a file begins as such checkpoints do."""
    with path.open("rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def read_legacy(path: Path) -> Any:
    """The content of a legacy checkpoint; ``UnpicklingError`` if it holds anything else."""
    with path.open("rb") as file:
        file.seek(len(_HEAD))
        _Reader(file).load()  # the version of the format
        _Reader(file).load()  # byte order and sizes
        reader = _Reader(file)
        content = reader.load()
        numbers = {key: _numbers(file, reader.dtypes[key]) for key in _Reader(file).load()}
    return _filled(content, numbers)


class _Reader(pickle.Unpickler):
    """An unpickler that knows tensors and ordered dictionaries alone."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8")
        self.dtypes: dict[str, torch.dtype] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _place
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        kind, storage, key, *_ = pid
        if kind != "storage" or not isinstance(storage, _StorageType):
            raise pickle.UnpicklingError(f"it refers to a {kind}")
        self.dtypes[key] = storage.dtype
        return key


def _place(storage: str, offset: int, shape: Any, stride: Any, *_: Any) -> _Place:
    return _Place(storage, offset, tuple(shape), tuple(stride))


def _numbers(file: IO[bytes], dtype: torch.dtype) -> torch.Tensor:
    (count,) = struct.unpack("<q", file.read(8))
    size = count * dtype.itemsize
    raw = file.read(size)
    if count < 0 or len(raw) != size:
        raise pickle.UnpicklingError("it ends too early")
    return torch.frombuffer(bytearray(raw), dtype=dtype) if count else torch.empty(0, dtype=dtype)


def _filled(content: Any, numbers: dict[str, torch.Tensor]) -> Any:
    """The content with tensors in the places for them."""
    if isinstance(content, _Place):
        flat = numbers[content.storage]
        return flat.as_strided(content.shape, content.stride, content.offset).clone()
    if isinstance(content, dict):
        return {key: _filled(value, numbers) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_filled(value, numbers) for value in content]
    return content
