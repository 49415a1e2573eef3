"""Sealed files come back as they were written, or not at all."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otadtk.files.sealed import seal, unseal

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_round_trip() -> None:
    unsealed = unseal(seal({"format": "test/1"}, VALUES))
    assert unsealed is not None
    header, values = unsealed
    assert header == {"format": "test/1", "shape": [2, 3]}
    assert np.array_equal(values, VALUES)


@given(st.data())
def test_every_changed_byte_is_seen(data: st.DataObject) -> None:
    content = bytearray(seal({"format": "test/1"}, VALUES))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    assert unseal(bytes(content)) is None


@pytest.mark.parametrize(
    "body", [b"", b"no json\n", b'{"shape": [-1, 3]}\n', b'{"shape": [7]}\nabcd', b"[]\n"]
)
def test_well_hashed_content_of_another_kind(body: bytes) -> None:
    assert unseal(body + hashlib.sha256(body).digest()) is None
