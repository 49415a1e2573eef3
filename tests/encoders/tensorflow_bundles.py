"""Writes TensorFlow 2 checkpoint bundles, for the tests of their reader."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """A table block with prefix-compressed keys, one restart point and an empty trailer."""
    body, before = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(key), len(before)) and key[shared] == before[shared]:
            shared += 1
        body += (
            varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        )
        before = key
    return body + struct.pack("<II", 0, 1) + b"\0" + b"\0\0\0\0"


def write_bundle(folder: Path, variables: dict[str, np.ndarray]) -> tuple[Path, Path]:
    entries, data = [(b"", field(1, 1))], b""
    for name in sorted(variables):
        array = variables[name]
        shape = b"".join(field(2, field(1, size)) for size in array.shape)
        dtype = 1 if array.dtype == np.float32 else 9
        message = field(1, dtype) + field(2, shape) + field(4, len(data)) + field(5, array.nbytes)
        message += varint(6 << 3 | 5) + b"\0\0\0\0"
        entries.append((name.encode(), message))
        data += array.tobytes()
    middle = len(entries) // 2
    blocks = [block(entries[:middle]), block(entries[middle:])]
    table, index = b"", []
    for part, last in zip(blocks, (entries[middle - 1][0], entries[-1][0]), strict=True):
        index.append((last, varint(len(table)) + varint(len(part) - 5)))
        table += part
    index_block = block(index)
    handles = varint(0) + varint(0) + varint(len(table)) + varint(len(index_block) - 5)
    table += index_block + handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    (folder / "v.index").write_bytes(table)
    (folder / "v.data").write_bytes(data)
    return folder / "v.index", folder / "v.data"
