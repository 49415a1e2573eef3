"""kadtk, fadtk and otadtk 0.1.2 themselves: their caches are read here, ours there; their frames.

The published programs are fetched and run, each in a process of its own; see run_peers.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from torch.nn import functional

from otadtk.cli.embeds import main as embeds
from otadtk.cli.score import main as score
from otadtk.encoders import Encoder, Encoding, frames, get_spec
from otadtk.encoders.spec import EncoderSpec

SCRIPT = Path(__file__).parents[2] / "references" / "run_peers.py"
PACKAGES = ["kadtk==1.1.0", "fadtk==1.1.0", "otadtk==0.1.2", "hypy-utils==1.0.29", "tqdm==4.67.1"]
CPU = torch.device("cpu")
Folders = tuple[Path, Path]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("peers")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--ignore-requires-python"]
    wanted = ["--disable-pip-version-check", "--target", str(home), *PACKAGES]
    if subprocess.run([*pip, *wanted], check=False).returncode:
        pytest.skip("kadtk, fadtk or otadtk 0.1.2 are out of reach")
    return home


@pytest.fixture
def run_peer(packages: Path, tmp_path: Path) -> Callable[..., dict[str, float]]:
    """Runs one of the programs on two folders; gives its scores."""

    def run(tool: str, folders: Folders, *flags: str) -> dict[str, float]:
        command = [sys.executable, "-W", "ignore", str(SCRIPT), str(packages), tool]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, *map(str, folders), str(tmp_path), *flags],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        scores: dict[str, float] = json.loads(done.stdout)
        return scores

    return run


@pytest.fixture
def noises(tmp_path: Path) -> Folders:
    """Folders of ten clips of noise, coloured differently from clip to clip and set to set."""
    rng = np.random.default_rng(0)
    for name, slope in (("ref", 0.3), ("eval", 0.6)):
        (tmp_path / name).mkdir()
        for number in range(10):
            noise = rng.normal(size=32_000) * rng.uniform(0.02, 0.1)
            noise[1:] += slope * rng.uniform(0.5, 1.0) * noise[:-1]
            soundfile.write(tmp_path / name / f"{number}.wav", noise, 16_000, subtype="PCM_16")
    return tmp_path / "ref", tmp_path / "eval"


@pytest.fixture
def scored(capsys: Capture) -> Callable[..., float]:
    """The score that our command line prints for VGGish."""

    def run(*arguments: object) -> float:
        capsys.readouterr()
        code = score(["vggish", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert code == 0, err
        return float(re.findall(r": (-?\d+\.\d+)", out)[0])

    return run


def test_caches_of_kadtk(
    noises: Folders, run_peer: Callable[..., dict[str, float]], scored: Callable[..., float]
) -> None:
    theirs = run_peer("kadtk", noises)
    entry = np.load(noises[0] / "embeddings" / "vggish" / "0.npy")
    assert (entry.dtype, entry.shape) == (np.float16, (50, 128))
    kad = scored(*noises, "--kad", "--import-cache", "kadtk")
    fad = scored(*noises, "--fad", "--import-cache", "kadtk")
    # it computes in float32
    assert kad == pytest.approx(theirs["kad"], rel=1e-4)
    assert fad == pytest.approx(theirs["fad"], rel=1e-4)
    statistics = [folder / "fad_stats" / "vggish" for folder in noises]
    assert scored(*statistics, "--fad", "--frames", "kadtk") == pytest.approx(fad, rel=1e-4)
    print(f"kadtk: KAD {kad / theirs['kad'] - 1:.1e}, FAD {fad / theirs['fad'] - 1:.1e}")


def test_caches_and_statistics_of_fadtk(
    noises: Folders, run_peer: Callable[..., dict[str, float]], scored: Callable[..., float]
) -> None:
    theirs = run_peer("fadtk", noises)["fad"]
    fad = scored(*noises, "--fad", "--import-cache", "fadtk")
    statistics = [folder / "stats" / "vggish" for folder in noises]
    from_statistics = scored(*statistics, "--fad", "--frames", "fadtk")
    # it rounds the mean of each clip to float16 before it joins them
    assert fad == pytest.approx(theirs, rel=3e-4)
    assert from_statistics == pytest.approx(theirs, rel=1e-5)
    mixed = scored(statistics[0], noises[1], "--fad", "--import-cache", "fadtk")
    assert mixed == pytest.approx(theirs, rel=3e-4)
    print(f"fadtk: cache {fad / theirs - 1:.1e}, statistics {from_statistics / theirs - 1:.1e}")


def test_published_statistics_of_fadtk(
    noises: Folders,
    packages: Path,
    run_peer: Callable[..., dict[str, float]],
    scored: Callable[..., float],
) -> None:
    """Its packaged ``fma_pop`` as the reference."""
    reference = packages / "fadtk" / "stats" / "fma_pop.npz"
    theirs = run_peer("fadtk", (reference, noises[1]))["fad"]
    fad = scored(reference, noises[1], "--fad", "--import-cache", "fadtk")
    print(f"fadtk: fma_pop {fad / theirs - 1:.1e}")
    assert fad == pytest.approx(theirs, rel=1e-4)


def test_caches_of_otadtk_012(
    noises: Folders, run_peer: Callable[..., dict[str, float]], scored: Callable[..., float]
) -> None:
    theirs = run_peer("otadtk", noises)
    cache = ["--import-cache", "otadtk-0.1.2"]
    otad = ["--variant", "raw", "--epsilon", "20", "--compat", "otadtk-0.1.2"]
    ours = {
        "otad": scored(*noises, *otad, *cache),
        "fad": scored(*noises, "--fad", *cache),
        "kad": scored(*noises, "--kad", *cache),
    }
    print("otadtk 0.1.2:", {name: f"{ours[name] / theirs[name] - 1:.1e}" for name in ours})
    # the covariance of 10 clips in 128 dimensions is singular: its square root there is inexact
    assert ours["fad"] == pytest.approx(theirs["fad"], rel=1e-4)
    assert ours["otad"] == pytest.approx(theirs["otad"], rel=1e-5)
    assert ours["kad"] == pytest.approx(theirs["kad"], rel=1e-4)


class Bands(Encoder):
    """Stands for VGGish: energies in 128 bands, one frame every 40 ms."""

    def encode_segments(self, segments: list[torch.Tensor]) -> list[Encoding]:  # type: ignore[override]
        found = []
        for segment in segments:
            spectra = torch.fft.rfft(segment.unfold(0, 640, 640)).abs()[:, :128].log1p()
            found.append(Encoding(spectra.half().float(), torch.ones(len(spectra))))
        return found


def test_kadtk_reads_what_is_written_for_it(
    noises: Folders,
    run_peer: Callable[..., dict[str, float]],
    scored: Callable[..., float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(spec: EncoderSpec, device: torch.device, own: Path | None = None) -> Encoder:
        return Bands(spec, device)

    monkeypatch.setattr(frames, "load", load)
    written = ["-m", "vggish", "-d", *map(str, noises), "--layout", "kadtk"]
    assert embeds(written) == 0
    theirs = run_peer("kadtk", noises, "--only-cached")
    kad, fad = (scored(*noises, f"--{name}", "--frames", "kadtk") for name in ("kad", "fad"))
    assert kad == pytest.approx(theirs["kad"], rel=1e-4)
    assert fad == pytest.approx(theirs["fad"], rel=1e-4)
    print(f"kadtk of ours: KAD {kad / theirs['kad'] - 1:.1e}, FAD {fad / theirs['fad'] - 1:.1e}")
    assert not (noises[0] / "convert").exists(), "nothing was embedded anew"
    # what it keeps beside the embeddings it believes: hence our warning when they are written again
    for entry in (noises[1] / "embeddings" / "vggish").iterdir():
        np.save(entry, 2 * np.load(entry))
    assert run_peer("kadtk", noises, "--only-cached")["fad"] == theirs["fad"]


class Means(Encoder):
    """Stands for EnCodec as in run_peers.py."""

    def encode_segments(self, segments: list[torch.Tensor]) -> list[Encoding]:  # type: ignore[override]
        found = []
        for segment in segments:
            steps = functional.pad(segment, (0, -len(segment) % 320)).reshape(-1, 320)
            found.append(
                Encoding(steps.mean(dim=1)[:, None].repeat(1, 128), torch.ones(len(steps)))
            )
        return found


class Ends(Encoder):
    """Stands for CLAP as in run_peers.py; it rounds to 16 bits as ours does."""

    def encode_segments(self, segments: list[torch.Tensor]) -> list[Encoding]:  # type: ignore[override]
        rounded = [(segment * 32767.0).trunc() / 32767.0 for segment in segments]
        return [Encoding(torch.cat([r[:256], r[-256:]])[None], torch.ones(1)) for r in rounded]


@pytest.mark.parametrize("tool", ["kadtk", "fadtk"])
def test_frames_of_clips_of_all_lengths(
    tmp_path: Path, run_peer: Callable[..., dict[str, float]], tool: str
) -> None:
    rng = np.random.default_rng(0)
    inner = {24_000: Means(get_spec("encodec"), CPU), 48_000: Ends(get_spec("clap"), CPU)}
    clips = tmp_path / "clips"
    clips.mkdir()
    for rate in inner:
        for seconds in (0.6, 1.2, 2.7, 11.3):
            if (tool, rate, seconds) != ("kadtk", 24_000, 0.6):  # where it fails
                samples = rng.uniform(-0.9, 0.9, size=round(rate * seconds))
                soundfile.write(clips / f"{rate}_{seconds}s.wav", samples, rate, subtype="PCM_16")
    run_peer(tool, (clips, clips), "--frames")
    for path in sorted(clips.iterdir()):
        samples, rate = soundfile.read(path, dtype="float32")
        encoder = frames.with_rule(frames.with_frames(inner[rate].spec, tool), inner[rate], tool)
        theirs = np.load(tmp_path / f"{path.stem}.npy")
        assert theirs.dtype == np.float16
        ours = encoder.encode_frames(samples, rate)
        assert ours.shape == theirs.shape, path.stem
        np.testing.assert_allclose(ours, theirs, atol=1e-3, err_msg=path.stem)
