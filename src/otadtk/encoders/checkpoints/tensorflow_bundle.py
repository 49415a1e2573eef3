"""Reads a TensorFlow 2 checkpoint bundle (``variables.index`` + ``variables.data-…``) without TensorFlow.

The index is a LevelDB-style sorted table whose values are ``BundleEntryProto`` messages; the data
file holds the tensors as raw little-endian numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import WeightsError

_TABLE_MAGIC = 0xDB4775248B80FB57
_FOOTER_BYTES = 48
_DT_FLOAT = 1


def read_float_variables(index: Path, data: Path) -> dict[str, NDArray[np.float32]]:
    """Every float32 variable of the bundle by name; other types are left out."""
    table, raw = index.read_bytes(), data.read_bytes()
    variables: dict[str, NDArray[np.float32]] = {}
    try:
        for key, value in _table_entries(table):
            entry = _BundleEntry.parse(value)
            if not key or entry.dtype != _DT_FLOAT:  # the empty key is the bundle's header
                continue
            count = int(np.prod(entry.shape, dtype=np.int64))
            if entry.size != 4 * count or entry.offset + entry.size > len(raw):
                raise ValueError(f"variable {key!r} lies outside the data file")
            flat = np.frombuffer(raw, dtype="<f4", count=count, offset=entry.offset)
            variables[key.decode()] = flat.reshape(entry.shape).astype(np.float32)
    except (ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise WeightsError(f"{index} is not a readable TensorFlow checkpoint: {error}") from error
    return variables


def _table_entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(key, value) of every entry: the footer names the index block, which names the data blocks."""
    footer = table[-_FOOTER_BYTES:]
    if len(footer) < _FOOTER_BYTES or struct.unpack("<Q", footer[-8:])[0] != _TABLE_MAGIC:
        raise ValueError("the table footer is missing")
    _, position = _varint(footer, 0)  # offset and size of the meta-index block: not needed
    _, position = _varint(footer, position)
    for _, handle in _block_entries(table, *_block_handle(footer, position)):
        yield from _block_entries(table, *_block_handle(handle, 0))


def _block_handle(data: bytes, position: int) -> tuple[int, int]:
    offset, position = _varint(data, position)
    size, _ = _varint(data, position)
    return offset, size


def _block_entries(table: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Entries of one block; each key shares a prefix with the one before it."""
    if table[offset + size] != 0:
        raise ValueError("compressed blocks are not supported")
    block = table[offset : offset + size]
    restarts = struct.unpack("<I", block[-4:])[0]
    end = len(block) - 4 * (restarts + 1)
    position, key = 0, b""
    while position < end:
        shared, position = _varint(block, position)
        fresh, position = _varint(block, position)
        length, position = _varint(block, position)
        key = key[:shared] + block[position : position + fresh]
        position += fresh
        yield key, block[position : position + length]
        position += length


class _BundleEntry:
    """The fields of a ``BundleEntryProto`` that say where a tensor lies."""

    def __init__(self) -> None:
        self.dtype = 0
        self.shape: tuple[int, ...] = ()
        self.offset = 0
        self.size = 0

    @classmethod
    def parse(cls, message: bytes) -> _BundleEntry:
        entry = cls()
        for field, value in _proto_fields(message):
            if field == 1 and isinstance(value, int):
                entry.dtype = value
            elif field == 2 and isinstance(value, bytes):  # TensorShapeProto: repeated Dim (2)
                dims = [d for f, d in _proto_fields(value) if f == 2 and isinstance(d, bytes)]
                entry.shape = tuple(_dim_size(d) for d in dims)
            elif field == 4 and isinstance(value, int):
                entry.offset = value
            elif field == 5 and isinstance(value, int):
                entry.size = value
        return entry


def _dim_size(message: bytes) -> int:
    return next((v for f, v in _proto_fields(message) if f == 1 and isinstance(v, int)), 0)


def _proto_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of a protocol-buffer message: wire types 0, 1, 2 and 5."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        wire = tag & 7
        if wire == 0:
            number, position = _varint(message, position)
            yield tag >> 3, number
        elif wire == 2:
            length, position = _varint(message, position)
            yield tag >> 3, message[position : position + length]
            position += length
        elif wire in (1, 5):
            position += 8 if wire == 1 else 4
        else:
            raise ValueError(f"unknown wire type {wire}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """(number, next position) of a base-128 varint."""
    number = 0
    for shift in range(0, 64, 7):
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
    raise ValueError("a number runs over 64 bits")
