"""The caches of kadtk, fadtk and otadtk 0.1.2: read, written, and refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from otadtk import FAD, KAD, OTAD, compute_fad, compute_kad, evaluate
from otadtk.cli.score import main as score
from otadtk.embed import LazyEncoder
from otadtk.embed.formats.caches import read_cache, write_kadtk_layout
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import Encoder, EncoderSpec, Encoding, get_spec
from otadtk.encoders.frames import with_frames
from otadtk.errors import AudioError, UsageError
from tests.embedding import embed

Folders = tuple[Path, Path]
CPU = torch.device("cpu")


@pytest.fixture
def vggish_frames() -> Iterator[Callable[[EncoderSpec], LazyEncoder]]:
    """Stands for VGGish: its frames are drawn from the length of the clip."""

    class Drawn(Encoder):
        def encode_segments(self, segments: list[torch.Tensor]) -> list[Encoding]:  # type: ignore[override]
            draws = [torch.Generator().manual_seed(int(1e6 * s.abs().sum())) for s in segments]
            frames = [torch.randn(3, 128, generator=draw).half().float() for draw in draws]
            return [Encoding(f, torch.ones(3)) for f in frames]

    yield lambda spec: LazyEncoder(spec, loaded=Drawn(spec, CPU))


def test_kadtk_layout_and_back(
    folders: Folders,
    vggish_frames: Callable[[EncoderSpec], LazyEncoder],
    caplog: pytest.LogCaptureFixture,
) -> None:
    spec = with_frames(get_spec("vggish"), "kadtk")
    for folder in folders:
        embedded = embed(folder, vggish_frames(spec), EmbeddingStore(), frames="own")
        written = write_kadtk_layout(embedded, spec)
        assert written[0] == folder / "embeddings" / "vggish" / "000.npy"
        array = np.load(written[0])
        assert (array.dtype, array.shape) == (np.float16, (3, 128))
    assert caplog.messages == []
    (folders[1] / "kernel_stats" / "vggish").mkdir(parents=True)
    write_kadtk_layout(embedded, spec)
    assert f"until you remove {folders[1] / 'kernel_stats' / 'vggish'}" in caplog.text
    read = FAD("vggish", import_cache="kadtk").embed(folders[0])
    assert read.frames is not None
    assert len(read.frames) == 24
    assert "24 frames (kadtk)" in read.note
    there = [read_cache(folder, spec, "kadtk").points for folder in folders]
    assert read.frame_counts == (3,) * 8
    metric = KAD("vggish", import_cache="kadtk")
    floor = evaluate(metric, *folders, null=9).statistics.floor
    assert floor is not None, "clips are dealt out with their frames"
    found = metric.score(*folders)
    assert found == pytest.approx(compute_kad(*there))
    with pytest.raises(UsageError, match="OTAD compares clips"):
        OTAD("vggish", variant="raw", import_cache="kadtk")


def test_published_statistics_against_a_cache(folders: Folders, tmp_path: Path) -> None:
    """REF is a file of fadtk, EVAL what fadtk has cached: frames are fadtk's without being named."""
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(8, 5, 128)).astype(np.float16)
    cache = folders[1] / "embeddings" / "vggish"
    cache.mkdir(parents=True)
    for file, array in zip(sorted(folders[1].glob("*.wav")), frames, strict=True):
        np.save(cache / f"{file.stem}.npy", array)
    reference = rng.normal(size=(300, 128))
    moments = {"vggish.mu": reference.mean(axis=0), "vggish.cov": np.cov(reference.T)}
    np.savez(tmp_path / "ref.npz", **moments)
    found = FAD("vggish", import_cache="fadtk").score(tmp_path / "ref.npz", folders[1])
    expected = compute_fad(reference, frames.reshape(-1, 128).astype(np.float32))
    assert found == pytest.approx(expected, rel=1e-4)


def test_statistics_of_a_tool_are_of_its_frames(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder ``stats/<model>`` is fadtk's, ``fad_stats/<model>`` kadtk's; any other is nobody's."""
    values = rng.normal(size=(300, 128))
    places = [tmp_path / name for name in ("stats/vggish", "fad_stats/vggish", "mine/vggish")]
    for place in places:
        place.mkdir(parents=True)
        np.save(place / "mu.npy", values.mean(axis=0))
        np.save(place / "cov.npy", np.cov(values.T))
    of_fadtk, of_kadtk, mine = map(str, places)
    assert score(["vggish", of_fadtk, mine, "--fad"]) == 2
    assert "statistics of fadtk's frames: add --frames fadtk" in capsys.readouterr().err
    assert score(["vggish", of_kadtk, mine, "--fad", "--frames", "fadtk"]) == 2
    assert "add --frames kadtk" in capsys.readouterr().err
    assert score(["encodec", of_fadtk, mine, "--fad", "--frames", "fadtk"]) == 2
    assert "of fadtk's 'vggish', not of 'encodec' (encodec-emb)" in capsys.readouterr().err
    assert score(["vggish", of_fadtk, mine, "--fad", "--frames", "fadtk"]) == 0
    assert score(["vggish", mine, mine, "--fad"]) == 0
    assert score(["given", of_fadtk, mine, "--fad"]) == 0


def test_caches_without_their_audio_are_not_taken_for_embeddings(tmp_path: Path) -> None:
    """Statistics of 128 dimensions have the shape of 128 frames."""
    for name in ("embeddings/vggish/a", "fad_stats/vggish/cov"):
        path = tmp_path / f"{name}.npy"
        path.parent.mkdir(parents=True)
        np.save(path, np.ones((128, 128), dtype=np.float16))
    metric = FAD("vggish", frames="kadtk")
    with pytest.raises(AudioError, match=r"no audio, .* such as .*embeddings/vggish\."):
        metric.embed(tmp_path)
    assert len(metric.embed(tmp_path / "embeddings" / "vggish").points) == 128


def test_cache_of_otadtk_012(folders: Folders, rng: np.random.Generator) -> None:
    for folder in folders:
        cache = folder / "embedding" / "panns"
        cache.mkdir(parents=True)
        for file in folder.glob("*.wav"):
            np.save(cache / f"{file.stem}.npy", rng.normal(size=2048).astype(np.float32))
    metric = OTAD("panns", variant="raw", import_cache="otadtk-0.1.2")
    embedded = metric.embed(folders[0])
    assert np.array_equal(embedded.vectors[3], np.load(folders[0] / "embedding/panns/003.npy"))
    assert metric.score(*folders) > 0
    with pytest.raises(UsageError, match="no cache for 'audiomae'"):
        OTAD("audiomae", variant="raw", import_cache="otadtk-0.1.2").embed(folders[0])


class TestBadCaches:
    @pytest.fixture
    def cached(self, folders: Folders) -> Path:
        cache = folders[0] / "embeddings" / "vggish"
        cache.mkdir(parents=True)
        for file in folders[0].glob("*.wav"):
            np.save(cache / f"{file.stem}.npy", np.ones((2, 128), dtype=np.float16))
        return folders[0]

    def read(self, place: Path) -> None:
        read_cache(place, get_spec("vggish"), "kadtk")

    def test_missing_entry(self, cached: Path) -> None:
        (cached / "embeddings" / "vggish" / "003.npy").unlink()
        with pytest.raises(AudioError, match=r"7 of 8 clips .* not there: .*003\.wav"):
            self.read(cached)

    def test_truncated_entry(self, cached: Path) -> None:
        entry = cached / "embeddings" / "vggish" / "003.npy"
        entry.write_bytes(entry.read_bytes()[:-9])
        with pytest.raises(AudioError, match=r"003\.npy .* ends early"):
            self.read(cached)

    def test_entry_of_another_tool(self, cached: Path) -> None:
        np.save(cached / "embeddings" / "vggish" / "003.npy", np.ones(128))
        with pytest.raises(AudioError, match="not as kadtk writes it"):
            self.read(cached)

    def test_two_files_of_one_stem(self, cached: Path) -> None:
        soundfile.write(cached / "003.flac", np.zeros(99), 16_000)
        with pytest.raises(AudioError, match="share one place"):
            self.read(cached)

    def test_replaced_audio_is_named(self, cached: Path, caplog: pytest.LogCaptureFixture) -> None:
        os.utime(cached / "003.wav", (2e9, 2e9))
        self.read(cached)
        assert "older than their audio" in caplog.text
        assert "003.wav" in caplog.text
