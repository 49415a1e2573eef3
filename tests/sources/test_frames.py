"""Frames as kadtk and fadtk compare them, their caches, and that the output says which."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from torch import nn

from otadtk import FAD, KAD, OTAD, compute_fad, compute_kad, evaluate
from otadtk.cli.score import main as score
from otadtk.embed import LazyEncoder, embed
from otadtk.encoders import Encoder, EncoderSpec, Encoding, get_spec
from otadtk.encoders.frames import FramesEncoder, with_frames, wrap
from otadtk.encoders.vggish import VggishEncoder, VggishNetwork
from otadtk.errors import AudioError, UsageError
from otadtk.sources.caches import read_cache, write_kadtk_layout
from otadtk.store import EmbeddingStore

Folders = tuple[Path, Path]
CPU = torch.device("cpu")


class Ramp(Encoder):
    """Stands for a network: frames of a given step, each with the mean of its samples and a count."""

    def __init__(self, name: str, step: int) -> None:
        super().__init__(get_spec(name), CPU)
        self.step = self.length = step
        self.seen: list[int] = []

    def encode_segments(self, segments: list[torch.Tensor]) -> list[Encoding]:  # type: ignore[override]
        self.seen += [len(segment) for segment in segments]
        found = []
        for segment in segments:
            starts = range(0, max(1, len(segment) - self.length + 1), self.step)
            means = torch.stack([segment[s : s + self.length].mean() for s in starts])
            found.append(Encoding(means[:, None], torch.ones(len(means))))
        return found


def framed(name: str, whose: str, step: int) -> tuple[FramesEncoder, Ramp]:
    inner = Ramp(name, step)
    return wrap(with_frames(inner.spec, whose), inner, whose), inner


def frames_of(encoder: Encoder, samples: int) -> torch.Tensor:
    return encoder.encode_segments([torch.linspace(0, 1, samples)])[0].frames[:, 0]


def test_encodec_as_fadtk_and_as_kadtk() -> None:
    rate = 24_000
    fadtk, _ = framed("encodec", "fadtk", 320)
    kadtk, _ = framed("encodec", "kadtk", 320)
    clip = int(2.5 * rate)
    assert len(frames_of(fadtk, clip)) == 187
    seconds = frames_of(kadtk, clip)
    # kadtk: int(frames / duration) of them a mean, what remains is dropped
    stride = int(187 / 2.5)
    expected = frames_of(fadtk, clip)[: 2 * stride].reshape(2, stride).mean(dim=1)
    assert torch.allclose(seconds, expected, atol=1e-3)
    assert len(frames_of(kadtk, rate // 2)) == 1
    assert len(frames_of(fadtk, 200 * rate)) == 180 * 75


def test_clap_windows_start_every_second() -> None:
    encoder, inner = framed("clap", "kadtk", 480_000)
    assert len(frames_of(encoder, int(4.2 * 48_000))) == 5
    assert inner.seen == [480_000] * 5, "zeros behind the clip fill the windows"


def test_openl3_every_half_second() -> None:
    encoder, inner = framed("openl3", "kadtk", 4_800)
    for samples, padded in ((48_000, 48_000), (48_001, 72_000), (24_000, 48_000), (96_000, 96_000)):
        frames_of(encoder, samples)
        assert inner.seen[-1] == padded
    found = frames_of(encoder, 96_000)
    assert torch.allclose(
        found, inner.encode_segments([torch.linspace(0, 1, 96_000)])[0].frames[::5, 0], atol=1e-3
    )


@pytest.mark.parametrize(
    ("name", "whose", "step", "seconds", "frames"),
    [
        ("encodec", "fadtk", 320, 0.6, 45),
        ("encodec", "fadtk", 320, 1.2, 90),
        ("encodec", "kadtk", 320, 1.2, 1),
        ("clap", "kadtk", 480_000, 0.6, 1),
        ("clap", "fadtk", 480_000, 1.2, 2),
        ("openl3", "kadtk", 4_800, 0.6, 2),
        ("openl3", "kadtk", 4_800, 1.2, 3),
        ("vggish", "fadtk", 15_360, 0.6, 1),
    ],
)
def test_short_clips_are_as_long_as_there(
    name: str, whose: str, step: int, seconds: float, frames: int
) -> None:
    """The numbers are those that the two tools give; clips of ours are filled up to 1.5 s."""
    encoder, inner = framed(name, whose, step)
    if name == "openl3":  # its frames are of 1 s
        inner.length = 48_000
    samples = np.ones(round(seconds * encoder.spec.sample_rate), dtype=np.float32)
    assert len(encoder.encode_frames(samples, encoder.spec.sample_rate)) == frames


def test_vggish_without_its_final_relu() -> None:
    torch.manual_seed(0)
    spec = get_spec("vggish")
    with torch.device("meta"):
        network = VggishNetwork()
    network.features = nn.Sequential(nn.AdaptiveAvgPool2d((2, 2)))  # a small stand-in
    network.embeddings = nn.Sequential(nn.Linear(4, 128), nn.ReLU())
    inner = VggishEncoder(spec, CPU, network)
    clip = torch.randn(40_000)
    after = inner.encode_segments([clip])[0].frames
    whole = with_frames(spec, "fadtk")
    before = wrap(whole, inner, "fadtk").encode_segments([clip])[0].frames
    assert bool((before < 0).any())
    assert torch.allclose(before.clamp(min=0), after, rtol=1e-3, atol=1e-3)
    assert torch.equal(before, before.half().float()), "as their caches hold it"


def test_fingerprints_keep_frames_apart() -> None:
    spec = get_spec("vggish")
    prints = {with_frames(spec, whose).fingerprint for whose in ("own", "kadtk", "fadtk")}
    assert len(prints | {spec.fingerprint}) == 4
    with pytest.raises(UsageError, match="fadtk has no frames of 'panns'"):
        with_frames(get_spec("panns"), "fadtk")
    with pytest.raises(UsageError, match="Unknown frames"):
        with_frames(spec, "versa")


def test_own_frames_are_those_of_the_encoder(folders: Folders) -> None:
    for file in folders[0].iterdir():
        soundfile.write(file, np.random.default_rng(0).normal(size=40_000) * 0.1, 16_000)
    metric = FAD("logmel", frames="own")
    embedded = metric.embed(folders[0])
    from otadtk import get_encoder

    samples, _ = soundfile.read(embedded.files[0], dtype="float32")
    alone = get_encoder("logmel").encode_frames(samples, 16_000)
    assert embedded.frames is not None
    assert np.array_equal(embedded.frames_by_clip()[0], alone)
    assert np.allclose(embedded.vectors[0], alone.mean(axis=0))
    assert FAD("logmel", frames="own").embed(folders[0]).encoded == 0, "frames are stored too"
    assert FAD("logmel").embed(folders[0]).frames is None


def test_frames_on_the_command_line(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = (FAD("logmel", frames="own").embed(folder).points for folder in folders)
    pair = [str(folder) for folder in folders]
    assert len(x) > 8, "more frames than clips"
    for flag, distance in (("--fad", compute_fad), ("--kad", compute_kad)):
        assert score(["logmel", *pair, flag, "--frames", "own"]) == 0
        out, err = capsys.readouterr()
        assert out.split()[1] == f"{distance(x, y):.6f}"
        assert f"{len(x)} frames of logmel@own" in err
    table = tmp_path / "scores.csv"
    for flags in (["--frames", "own"], []):
        assert score(["logmel", *pair, "--fad", *flags, "--csv", str(table)]) == 0
    models = [line.split(",")[1] for line in table.read_text().splitlines()]
    assert models == ["model", "logmel@own", "logmel"]
    capsys.readouterr()
    assert score(["logmel", *pair, "--frames", "own"]) == 2
    assert "belong to FAD and KAD" in capsys.readouterr().err
    assert score(["logmel", *pair, "--fad", "--frames", "kadtk"]) == 2
    capsys.readouterr()
    assert score(["logmel", *pair, "--fad", "--frames", "own", "--ci"]) == 0
    assert "95 % interval: " in capsys.readouterr().out  # clips are left out, not single frames
    np.save(tmp_path / "x.npy", x)
    given = ["logmel", str(tmp_path / "x.npy"), pair[1], "--fad", "--frames", "own", "--null", "9"]
    assert score(given) == 2
    assert "which clip each frame belongs to" in capsys.readouterr().err


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
        embedded = embed(folder, vggish_frames(spec), EmbeddingStore(), kind="frames")
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
