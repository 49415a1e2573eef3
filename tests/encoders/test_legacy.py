"""Checkpoints of Python 2 and old torch are read without running code."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import pytest
import torch

from otadtk.encoders.checkpoints.legacy import is_legacy, read_legacy
from otadtk.encoders.checkpoints.matching import read_checkpoint
from otadtk.errors import WeightsError

HEAD = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e") + b"\x80\x02M\xe9\x03." + b"\x80\x02}."
"""The magic number, the version and an empty table of facts."""


def write_old(path: Path, content: bytes, keys: bytes = b"\x80\x02].", raw: bytes = b"") -> Path:
    path.write_bytes(HEAD + content + keys + raw)
    return path


def test_what_torch_wrote_before_1_6(tmp_path: Path) -> None:
    shared = torch.arange(12.0).reshape(3, 4)
    content = {
        "state": {"a": shared, "view": shared[1:, ::2], "n": torch.tensor(7)},
        "half": torch.ones(2, dtype=torch.float16),
        "nothing": torch.empty(0),
        "plain": [1, 2.5, "text", None, True],
    }
    path = tmp_path / "old.pth"
    torch.save(content, path, _use_new_zipfile_serialization=False)
    assert is_legacy(path)
    found = read_legacy(path)
    assert torch.equal(found["state"]["a"], shared)
    assert torch.equal(found["state"]["view"], shared[1:, ::2])
    assert found["state"]["n"].item() == 7
    assert found["half"].dtype == torch.float16
    assert found["nothing"].shape == (0,)
    assert found["plain"] == content["plain"]


def test_text_opcodes_of_python_2(tmp_path: Path) -> None:
    """CDPAM's file has them, and torch's safe reader refuses it."""
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n"
        b"((U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuK\x02Nt"  # the persistent id
        b"QK\x00K\x02\x85K\x01\x85\x89}tR"
    )
    content = b"\x80\x02}(U\x01eI139832181927520\nU\x01t" + tensor + b"u."
    numbers = struct.pack("<qff", 2, 1.5, -2.0)
    path = write_old(tmp_path / "old.pth", content, b"\x80\x02](U\x010e.", numbers)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)
    found = read_checkpoint(path)
    assert found["e"] == 139832181927520
    assert found["t"].tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02cposix\nsystem\nU\x04true\x85R.",
        b"\x80\x02c__builtin__\neval\nU\x011\x85R.",
        b"\x80\x02ctorch\nload\n.",
        b"\x80\x02}(U\x01ecbuiltins\nexec\nI1\nU\x01au.",
    ],
)
def test_code_is_refused(content: bytes, tmp_path: Path) -> None:
    path = write_old(tmp_path / "old.pth", content)
    with pytest.raises(pickle.UnpicklingError, match="it names"):
        read_legacy(path)
    with pytest.raises(WeightsError, match="could run code"):
        read_checkpoint(path)


def test_truncated(tmp_path: Path) -> None:
    path = tmp_path / "old.pth"
    torch.save({"a": torch.ones(100)}, path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(WeightsError, match=r"old\.pth"):
        read_checkpoint(path)
    with pytest.raises(pickle.UnpicklingError, match="ends too early"):
        read_legacy(path)
