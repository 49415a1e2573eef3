"""Reading TensorFlow checkpoints: values right, damage refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.encoders.checkpoints.tensorflow_bundle import read_float_variables
from otadtk.errors import WeightsError


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


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    variables = {
        f"layer_{i}/kernel": rng.normal(size=(i + 1, 3)).astype(np.float32) for i in range(5)
    }
    variables["layer_0/step"] = np.arange(3, dtype=np.int64)
    index, data = write_bundle(tmp_path_factory.mktemp("bundle"), variables)
    return index, data, variables


def test_values(bundle: tuple[Path, Path, dict[str, np.ndarray]]) -> None:
    index, data, variables = bundle
    found = read_float_variables(index, data)
    assert set(found) == {name for name in variables if name.endswith("kernel")}
    for name, array in found.items():
        assert np.array_equal(array, variables[name])


def test_truncated_data(tmp_path: Path, bundle: tuple[Path, Path, dict[str, np.ndarray]]) -> None:
    index, data, _ = bundle
    short = tmp_path / "short"
    short.write_bytes(data.read_bytes()[:-8])
    with pytest.raises(WeightsError, match="outside the data file"):
        read_float_variables(index, short)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_index_is_refused_or_read_never_worse(
    bundle: tuple[Path, Path, dict[str, np.ndarray]],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    index, values, _ = bundle
    content = bytearray(index.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(0, 3)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = tmp_path_factory.getbasetemp() / "damaged.index"
    damaged.write_bytes(content)
    try:
        read_float_variables(damaged, values)
    except WeightsError as error:
        assert "TensorFlow checkpoint" in str(error)
