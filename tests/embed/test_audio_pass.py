"""The loop over files: what is embedded, what is not embedded again, and what survives."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from otadtk.audio.synthesis import synthesise
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import Encoder, get_spec
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.errors import AudioError
from tests.embedding import embed

WriteClips = Callable[..., list[Path]]


class NoEncoder(LazyEncoder):
    """Stands for an encoder that must not be built."""

    def get(self) -> Encoder:
        raise AssertionError("the encoder was built")


def logmel() -> LazyEncoder:
    return LazyEncoder(get_spec("logmel"), device="cpu")


def test_vectors_equal_those_of_single_clips(
    tmp_path: Path, write_clips: WriteClips, yamnet: YamnetEncoder
) -> None:
    files = write_clips(tmp_path / "clips", 6, seconds=2.3)
    encoder = LazyEncoder(yamnet.spec, loaded=yamnet)
    embedded = embed(tmp_path / "clips", encoder, EmbeddingStore(tmp_path / "s"), workers=2)
    assert embedded.files == tuple(files)
    assert (embedded.encoded, embedded.bad) == (6, ())
    alone = np.stack([yamnet.encode(soundfile.read(f, dtype="float32")[0], 16_000) for f in files])
    assert np.array_equal(embedded.vectors, alone)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_warm_run_neither_decodes_nor_builds(
    tmp_path: Path, write_clips: WriteClips, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    write_clips(tmp_path / "clips", 9)
    store = EmbeddingStore(tmp_path / "s")
    cold = embed(tmp_path / "clips", logmel(), store, workers=workers)
    monkeypatch.setattr("otadtk.embed.reader.AudioReader", None)
    warm = embed(tmp_path / "clips", NoEncoder(get_spec("logmel")), store, workers=workers)
    assert np.array_equal(cold.vectors, warm.vectors)
    assert warm.audits == cold.audits
    assert warm.encoded == 0


def test_content_decides(tmp_path: Path, write_clips: WriteClips) -> None:
    store, clips = EmbeddingStore(tmp_path / "s"), tmp_path / "clips"
    files = write_clips(clips, 3)
    before = embed(clips, logmel(), store)
    files[0].rename(clips / "renamed.wav")
    shutil.copy(files[1], clips / "zcopy.wav")
    after = embed(clips, NoEncoder(get_spec("logmel")), store)
    assert np.array_equal(after.vectors, before.vectors[[1, 2, 0, 1]])
    # other audio under an old name, of the same size and time
    status = files[1].stat()
    soundfile.write(files[1], synthesise("alarm", 77, 1.2), 16_000, subtype="PCM_16")
    assert files[1].stat().st_size == status.st_size
    os.utime(files[1], ns=(status.st_atime_ns, status.st_mtime_ns))
    replaced = embed(clips, logmel(), store)
    assert replaced.encoded == 1
    assert not np.allclose(replaced.vectors[0], after.vectors[0])


def test_same_stem_in_two_formats_never_shares(tmp_path: Path) -> None:
    clips = tmp_path / "clips"
    clips.mkdir()
    soundfile.write(clips / "a.wav", synthesise("rain", 0, 1.0), 16_000)
    soundfile.write(clips / "a.flac", synthesise("bell", 0, 1.0), 16_000)
    embedded = embed(clips, logmel(), EmbeddingStore(tmp_path / "s"))
    assert [f.name for f in embedded.files] == ["a.flac", "a.wav"]
    assert np.linalg.norm(embedded.vectors[0] - embedded.vectors[1]) > 1.0


def test_force_and_damaged_entries_are_renewed(tmp_path: Path, write_clips: WriteClips) -> None:
    store, clips = EmbeddingStore(tmp_path / "s"), tmp_path / "clips"
    write_clips(clips, 3)
    first = embed(clips, logmel(), store)
    assert embed(clips, logmel(), store, force=True).encoded == 3
    entry = store.path(first.digests[1], get_spec("logmel").fingerprint)
    entry.write_bytes(entry.read_bytes()[:100])
    again = embed(clips, logmel(), store)
    assert again.encoded == 1
    assert np.array_equal(again.vectors, first.vectors)


def test_long_clip_in_segments(tmp_path: Path, yamnet: YamnetEncoder) -> None:
    """A clip of many segments, whose last one fills a batch, comes out as one vector."""
    clip = np.concatenate([synthesise("rain", s, 50.0) for s in range(3)])
    clips = tmp_path / "clips"
    clips.mkdir()
    soundfile.write(clips / "long.wav", clip, 16_000, subtype="FLOAT")
    soundfile.write(clips / "short.wav", clip[:16_000], 16_000, subtype="FLOAT")
    encoder = LazyEncoder(yamnet.spec, loaded=yamnet)
    embedded = embed(clips, encoder, EmbeddingStore(tmp_path / "s"), workers=1)
    whole = yamnet.pool(yamnet.encode_segments([torch.from_numpy(clip)]))
    assert np.array_equal(embedded.vectors[0], whole.numpy())
    assert np.array_equal(embedded.vectors[1], yamnet.encode(clip[:16_000], 16_000))


@pytest.fixture
def spoilt(tmp_path: Path, write_clips: WriteClips) -> Path:
    """Three good clips and three bad ones."""
    clips = tmp_path / "clips"
    write_clips(clips, 3)
    (clips / "b_empty.wav").touch()
    (clips / "b_text.mp3").write_text("not audio")
    soundfile.write(clips / "b_nan.wav", np.full(9_999, np.nan), 16_000, subtype="FLOAT")
    return clips


def test_fail_reports_all_bad_files_at_once(spoilt: Path, tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path / "s")
    with pytest.raises(AudioError) as caught:
        embed(spoilt, logmel(), store)
    message = str(caught.value)
    assert message.startswith("3 of 6 files cannot be scored")
    for name, reason in (
        ("b_empty.wav", "empty"),
        ("b_text.mp3", "not readable"),
        ("b_nan", "NaN"),
    ):
        assert any(name in line and reason in line for line in message.splitlines())
    # the good ones are kept: after mending, only the mended are embedded
    assert embed(spoilt, logmel(), store, on_error="skip").encoded == 0


def test_skip_leaves_out_and_lists(spoilt: Path, tmp_path: Path) -> None:
    embedded = embed(spoilt, logmel(), EmbeddingStore(tmp_path / "s"), on_error="skip")
    assert len(embedded.files) == len(embedded.vectors) == len(embedded.audits) == 3
    assert [c.path.name for c in embedded.bad] == ["b_empty.wav", "b_nan.wav", "b_text.mp3"]


def test_skip_with_nothing_left_fails(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_text("not audio")
    with pytest.raises(AudioError, match="1 of 1 files"):
        embed(tmp_path, logmel(), EmbeddingStore(tmp_path / "s"), on_error="skip")


def test_file_that_changes_while_it_is_read(
    tmp_path: Path, write_clips: WriteClips, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = write_clips(tmp_path / "clips", 1)
    from otadtk.embed import reader as module

    def slow_digest(path: Path) -> str:
        digest = original(path)
        os.utime(path, (1, 1))
        return digest

    original = module._digest
    monkeypatch.setattr(module, "_digest", slow_digest)
    store = EmbeddingStore(tmp_path / "s")
    with pytest.raises(AudioError, match="changed while it was being read"):
        embed(file, logmel(), store)
    assert not (tmp_path / "s").exists()


def test_error_in_the_encoder_stops_the_run(tmp_path: Path, write_clips: WriteClips) -> None:
    class Broken(LazyEncoder):
        def get(self) -> Encoder:
            raise MemoryError("no memory for the network")

    write_clips(tmp_path / "clips", 5)
    with pytest.raises(MemoryError, match="no memory"):
        embed(tmp_path / "clips", Broken(get_spec("logmel")), EmbeddingStore(tmp_path / "s"))


def test_main_thread_keeps_its_torch_threads(tmp_path: Path, write_clips: WriteClips) -> None:
    write_clips(tmp_path / "clips", 4)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        embed(tmp_path / "clips", logmel(), EmbeddingStore(tmp_path / "s"), workers=2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


HELD_ENCODER = """
import time
from pathlib import Path
import numpy as np

class Held:
    name, target_sr, embedding_dim = "held", 16000, 3

    def encode(self, wav, sr):
        while float(wav.max()) > 0.99 and Path({hold!r}).exists():
            time.sleep(0.01)
        return np.array([float(wav.mean()), float(wav.std()), float(wav.max())])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_kill_at_any_moment_loses_nothing(
    tmp_path: Path, write_clips: WriteClips, how: signal.Signals
) -> None:
    """A run cannot end before it is killed: the encoder waits at the last clip."""
    clips, root, hold = tmp_path / "clips", tmp_path / "s", tmp_path / "hold"
    files = write_clips(clips, 60, seconds=0.3)
    soundfile.write(files[-1], np.ones(4800), 16_000, subtype="FLOAT")
    (tmp_path / "held.py").write_text(HELD_ENCODER.format(hold=str(hold)))
    model = f"{tmp_path / 'held.py'}:Held"
    command = [sys.executable, "-m", "otadtk.cli.embeds", "-m", model, "-d", str(clips)]
    moments = random.Random(0)
    for _ in range(4):
        stored = len(list(root.rglob("*.clip")))
        if stored >= len(files) - 1:
            break
        hold.touch()
        pipe = subprocess.PIPE
        process = subprocess.Popen([*command, "--cache-dir", str(root)], stderr=pipe, stdout=pipe)
        while len(list(root.rglob("*.clip"))) == stored:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.02))
        process.send_signal(how)
        hold.unlink()
        _, errors = process.communicate()
        assert process.returncode == (130 if how == signal.SIGINT else -how)
        if how == signal.SIGINT:
            assert b"interrupted" in errors
            assert b"Traceback" not in errors
    encoder = LazyEncoder(get_spec(model), device="cpu")
    embedded = embed(clips, encoder, EmbeddingStore(root))
    clean = embed(clips, encoder, EmbeddingStore(tmp_path / "clean"))
    assert np.array_equal(embedded.vectors, clean.vectors)
