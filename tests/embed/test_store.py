"""The embedding store: found by content, sound after any interruption."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.audio.clip_audit import ClipAudit
from otadtk.embed.store import EmbeddingStore, StoredClip, _pack, _unpack
from otadtk.errors import UsageError

AUDIO, ENCODER = "ab" * 32, "cd" * 32
AUDIT = ClipAudit(seconds=1.5, sample_rate=44_100, channels=2, peak=0.5, clipped=0.0)


def clip(value: float = 1.0, dim: int = 16) -> StoredClip:
    return StoredClip(np.full(dim, value, dtype=np.float32), AUDIT)


def test_round_trip(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    assert store.get(AUDIO, ENCODER) is None
    values = np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32)
    store.put(AUDIO, ENCODER, StoredClip(values, AUDIT), "frames")
    found = EmbeddingStore(tmp_path).get(AUDIO, ENCODER, "frames")
    assert found is not None
    assert np.array_equal(found.values, values)
    assert found.audit == AUDIT
    assert store.get(AUDIO, ENCODER) is None, "clip vectors and frames are apart"


def test_keys_are_audio_and_encoder(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    store.put(AUDIO, ENCODER, clip())
    assert store.get("ef" * 32, ENCODER) is None
    assert store.get(AUDIO, "ef" * 32) is None
    # a file that lies under another entry's name is not taken for it
    moved = store.path("ef" * 32, ENCODER)
    moved.parent.mkdir(parents=True)
    moved.write_bytes(store.path(AUDIO, ENCODER).read_bytes())
    assert store.get("ef" * 32, ENCODER) is None


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damage_is_detected(data: st.DataObject) -> None:
    content = bytearray(_pack(clip(), AUDIO, ENCODER))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert _unpack(bytes(content), AUDIO, ENCODER) is None


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY foreign", b"{}\n" + b"\0" * 40])
def test_foreign_files_count_as_absent_and_are_replaced(tmp_path: Path, content: bytes) -> None:
    store = EmbeddingStore(tmp_path)
    path = store.path(AUDIO, ENCODER)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert store.get(AUDIO, ENCODER) is None
    store.put(AUDIO, ENCODER, clip())
    assert store.get(AUDIO, ENCODER) is not None


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddingStore(tmp_path)

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match=r"No space left.*--cache-dir"):
        store.put(AUDIO, ENCODER, clip())
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--cache-dir"):
        EmbeddingStore(tmp_path / "file" / "cache").put(AUDIO, ENCODER, clip())


def test_leftovers_of_a_kill_are_cleared(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    folder = store.path(AUDIO, ENCODER).parent
    folder.mkdir(parents=True)
    old, young = folder / ".writing-old", folder / ".writing-young"
    old.touch()
    young.touch()
    os.utime(old, (time.time() - 1e6,) * 2)
    store.put(AUDIO, ENCODER, clip())
    assert not old.exists()
    assert young.exists(), "another process may be writing it"


def _write_many(root: Path, value: float) -> None:
    store = EmbeddingStore(root)
    for _ in range(200):
        store.put(AUDIO, ENCODER, clip(value, dim=4096))


def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(tmp_path, v)) for v in (1.0, 2.0)]
    for writer in writers:
        writer.start()
    store, running = EmbeddingStore(tmp_path), True
    while running:
        running = any(writer.is_alive() for writer in writers)
        found = store.get(AUDIO, ENCODER)
        if found is not None:
            assert len(set(found.values.tolist())) == 1, "an entry is of one writer, whole"
    assert found is not None
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [f"{AUDIO}.clip"]
