"""Audio and store behind an address: embedded as on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.find import find_audio
from otadtk.cli.embeds import main as embeds
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore, StoredClip
from otadtk.encoders import get_spec
from otadtk.errors import AudioError, UsageError
from tests.embedding import embed

WriteClips = Callable[..., list[Path]]
AUDIO, ENCODER = "ab" * 32, "cd" * 32


@pytest.fixture
def memory() -> Iterator[Any]:
    """Fsspec's file system in memory, empty."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.fixture
def far_clips(tmp_path: Path, write_clips: WriteClips, memory: Any) -> Path:
    """Four clips in memory, as in tmp_path/clips, with files beside them that are no clips."""
    for file in write_clips(tmp_path / "clips", 4, seconds=0.5):
        memory.pipe_file(f"/clips/{file.name}", file.read_bytes())
    for name in (".hidden.wav", "notes.txt", ".old/a.wav", "embeddings/a.wav"):
        memory.pipe_file(f"/clips/{name}", b"nothing")
    return Path("memory://clips")


def test_listing(far_clips: Path, memory: Any) -> None:
    memory.pipe_file("/clips/sub/deep.wav", b"x")
    names = ["000.wav", "001.wav", "002.wav", "003.wav"]
    assert [f.name for f in find_audio(far_clips)] == [*names, "deep.wav"]
    assert [f.name for f in find_audio(far_clips, recursive=False)] == names
    assert find_audio(far_clips / "000.wav") == [far_clips / "000.wav"]
    with pytest.raises(AudioError, match="There is no file or folder memory://nowhere"):
        find_audio(Path("memory://nowhere"))


def test_embeds_as_on_this_machine(far_clips: Path, tmp_path: Path, memory: Any) -> None:
    encoder, far = LazyEncoder(get_spec("logmel")), EmbeddingStore(Path("memory://store"))
    near_store = EmbeddingStore(tmp_path / "s")
    near = embed(tmp_path / "clips", encoder, near_store)
    first = embed(far_clips, encoder, far)
    assert np.array_equal(first.vectors, near.vectors)
    assert (first.digests, first.encoded) == (near.digests, 4)
    assert embed(str(far_clips), encoder, far).encoded == 0
    entries = {
        p.relative_to(tmp_path / "s"): p.read_bytes() for p in (tmp_path / "s").rglob("*.clip")
    }
    assert {name: memory.cat_file(f"/store/{name}") for name in entries} == entries
    assert len(memory.find("/store")) == 4


def test_command(far_clips: Path, capsys: pytest.CaptureFixture[str], memory: Any) -> None:
    memory.pipe_file("/clips/bad.wav", b"")
    command = ["-m", "logmel", "-d", "memory://clips", "--cache-dir", "memory://store"]
    assert embeds(command) == 3
    assert "memory://clips/bad.wav: the file is empty" in capsys.readouterr().err
    assert embeds([*command, "--on-error", "skip"]) == 0
    assert capsys.readouterr().out.startswith("logmel memory://clips: 4 clips, 0 embedded now")


def test_entries_are_put_if_absent(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = StoredClip(np.ones(3, dtype=np.float32), ClipAudit(1.0, 16_000, 1, 0.5, 0.0))
    store = EmbeddingStore(Path("memory://store"))
    store.put(AUDIO, ENCODER, clip)
    writes = []
    pipe = type(memory).pipe_file

    def watched(
        self: Any, path: str, value: bytes, mode: str = "overwrite", **options: Any
    ) -> None:
        pipe(self, path, value, mode=mode, **options)
        writes.append(mode)

    monkeypatch.setattr(type(memory), "pipe_file", watched)
    store.put(AUDIO, ENCODER, clip)
    assert writes == [], "the same entry is there already"
    (name,) = memory.find("/store")
    memory.pipe_file(name, b"damaged")
    assert store.get(AUDIO, ENCODER) is None
    store.put(AUDIO, ENCODER, clip)
    assert store.get(AUDIO, ENCODER) is not None


def test_service_that_fails(far_clips: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("token expired\nlong story")

    monkeypatch.setattr(type(memory), "get_file", broken)
    encoder, store = LazyEncoder(get_spec("logmel")), EmbeddingStore(Path("memory://store"))
    with pytest.raises(AudioError, match=r"it cannot be read: RuntimeError: token expired$"):
        embed(far_clips / "000.wav", encoder, store)
    monkeypatch.setattr(type(memory), "pipe_file", broken)
    clip = StoredClip(np.ones(3, dtype=np.float32), ClipAudit(1.0, 16_000, 1, 0.5, 0.0))
    with pytest.raises(UsageError, match=r"memory://store cannot be written.*token expired"):
        store.put(AUDIO, ENCODER, clip)


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_service_that_stops_answering(
    tmp_path: Path, far_clips: Path, memory: Any, monkeypatch: pytest.MonkeyPatch, on_error: Any
) -> None:
    for number in range(20):
        memory.pipe_file(f"/clips/more-{number}.wav", memory.cat_file("/clips/000.wav"))
    fetch, asked = type(memory).get_file, []

    def stopping(system: Any, name: str, *rest: Any, **options: Any) -> None:
        asked.append(name)
        if len(asked) > 3:
            raise TimeoutError(110, "Connection timed out")
        fetch(system, name, *rest, **options)

    monkeypatch.setattr(type(memory), "get_file", stopping)
    encoder, store = LazyEncoder(get_spec("logmel")), EmbeddingStore(tmp_path / "s")
    with pytest.raises(AudioError, match=r"5 files in a row .* Connection timed out\. What is"):
        embed(far_clips, encoder, store, workers=1, on_error=on_error)
    assert len(asked) == 8
