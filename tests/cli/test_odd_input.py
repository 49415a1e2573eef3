"""Unusual folders, files and machines: each is scored, or refused in one clear line."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.synthesis import synthesise
from otadtk.cli.score import main
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec

RATE = 16_000
CLIP = synthesise("engine", 0, 1.0)
Make = Callable[[Path], object]


def written(
    name: str = "odd.wav", samples: np.ndarray = CLIP, rate: int = RATE, **how: str
) -> Make:
    return lambda folder: soundfile.write(os.fspath(folder / name), samples, rate, **how)


def as_bytes(name: str, content: bytes) -> Make:
    return lambda folder: (folder / name).write_bytes(content)


def linked(name: str, target: str) -> Make:
    return lambda folder: (folder / name).symlink_to(target)


def disguised(kind: str, name: str) -> Make:
    def make(folder: Path) -> None:
        soundfile.write(folder / f"true.{kind}", CLIP, RATE)
        (folder / f"true.{kind}").rename(folder / name)

    return make


def changed(old: bytes, new: bytes, offset: int = 0) -> Make:
    """A 16-bit wav with bytes replaced at an offset from the first ``old``."""

    def make(folder: Path) -> None:
        soundfile.write(folder / "odd.wav", CLIP, RATE, subtype="PCM_16")
        content = bytearray((folder / "odd.wav").read_bytes())
        start = content.index(old) + offset
        content[start : start + len(new)] = new
        (folder / "odd.wav").write_bytes(content)

    return make


def appended(content: bytes) -> Make:
    def make(folder: Path) -> None:
        soundfile.write(folder / "odd.wav", CLIP, RATE)
        with (folder / "odd.wav").open("ab") as file:
            file.write(content)

    return make


def bound_socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("odd.wav")
    finally:
        os.chdir(here)


QUIET = 1e-5 * CLIP
TAIL = np.concatenate([CLIP[:4000], np.zeros(12_000)])

SCORED: dict[str, tuple[Make, str]] = {
    # what: (an addition to the evaluated folder, words on stderr)
    "a comma": (written("a,b.wav"), ""),
    "quotes": (written("a\"b'c.wav"), ""),
    "a new line": (written("a\nb.wav"), ""),
    "a tab and spaces": (written(" a\tb .wav"), ""),
    "not UTF-8": (
        lambda folder: shutil.copy(folder / "000.wav", folder / os.fsdecode(b"caf\xe9.wav")),
        "",
    ),
    "another script": (written("звук 🔊.wav"), ""),
    "a name of 255 bytes": (written("x" * 251 + ".wav"), ""),
    "a leading dash": (written("-rf.wav"), ""),
    "a percent sign": (written("100%s%d.wav"), ""),
    "a star": (written("*.wav"), ""),
    "capital letters": (written("ODD.WAV"), ""),
    "a link to a clip": (linked("odd.wav", "000.wav"), "exact copy"),
    "a link to the folder itself": (linked("loop", "."), ""),
    "a link to the folder above": (linked("loop", "../eval"), ""),
    "mp3 named wav": (disguised("mp3", "odd.wav"), ""),
    "wav named mp3": (disguised("wav", "odd.mp3"), ""),
    "flac named ogg": (disguised("flac", "odd.ogg"), ""),
    "8 bits": (written(subtype="PCM_U8"), ""),
    "24 bits": (written(subtype="PCM_24"), ""),
    "32 bits": (written(subtype="PCM_32"), ""),
    "float of 64 bits": (written(subtype="DOUBLE"), ""),
    "mu-law": (written(subtype="ULAW"), ""),
    "A-law": (written(subtype="ALAW"), ""),
    "ADPCM": (written(subtype="IMA_ADPCM"), ""),
    "8 channels": (written(samples=np.repeat(CLIP[:, None], 8, axis=1)), ""),
    "192 kHz": (written(rate=192_000), ""),
    "1 kHz": (written(rate=1_000), ""),
    "extensible header": (written(format="WAVEX"), ""),
    "64-bit header": (written(format="RF64"), ""),
    "rubbish behind the audio": (appended(b"rubbish" * 99), ""),
    "one sample": (written(samples=CLIP[:1]), ""),
    "nothing but an offset": (written(samples=np.full(RATE, 0.5)), ""),
    "beyond full scale": (written(samples=5 * CLIP, subtype="FLOAT"), "clip is clipped"),
    "denormal numbers": (written(samples=np.full(RATE, 1e-40), subtype="FLOAT"), "clip is silent"),
    "all but silent": (written(samples=QUIET, subtype="FLOAT"), "clip is silent"),
    "a silent tail": (written(samples=TAIL), "clip is mostly silent"),
    "a header that promises more": (
        changed(b"data", struct.pack("<I", 10**6), 4),
        "clip is truncated",
    ),
    "a header that promises less": (changed(b"data", struct.pack("<I", 9_000), 4), ""),
    "a header written to a pipe": (changed(b"data", struct.pack("<I", 2**32 - 1), 4), ""),
    "a hidden file": (as_bytes(".odd.wav", b"rubbish"), ""),
    "a note beside the clips": (as_bytes("notes.txt", b"rubbish"), ""),
    "a folder named like a clip": (lambda folder: (folder / "odd.wav").mkdir(), ""),
    "a converted copy of a reference": (
        lambda folder: soundfile.write(
            folder / "odd.flac", soundfile.read(folder.parent / "ref" / "001.wav")[0], RATE
        ),
        "nearly identical to a reference clip",
    ),
    "a reference clip": (
        lambda folder: shutil.copy(folder.parent / "ref" / "001.wav", folder / "odd.wav"),
        "in the reference too",
    ),
}

REFUSED: dict[str, tuple[Make, str]] = {
    # what: (an addition to the evaluated folder, words of the message)
    "no bytes": (as_bytes("odd.wav", b""), "the file is empty"),
    "only a header": (written(samples=CLIP[:0]), "it has no samples"),
    "a picture": (as_bytes("odd.wav", b"\x89PNG\r\n\x1a\n" + bytes(99)), "not readable audio"),
    "text named flac": (as_bytes("odd.flac", b"hello"), "not readable audio"),
    "text named mp3": (as_bytes("odd.mp3", b"hello" * 99), "not readable audio"),
    "zeros": (as_bytes("odd.wav", bytes(9_999)), "not readable audio"),
    "a header cut off": (as_bytes("odd.wav", b"RIFF\x24\0\0\0WAVEfmt "), "not readable audio"),
    "no channels": (changed(b"fmt ", struct.pack("<H", 0), 10), "not readable audio"),
    "a rate of 0": (changed(b"fmt ", struct.pack("<I", 0), 12), "odd.wav"),
    "1 bit": (changed(b"fmt ", struct.pack("<H", 1), 22), "1 bits a sample"),
    "an unknown codec": (changed(b"fmt ", struct.pack("<H", 0x1234), 8), "not readable audio"),
    "a NaN": (written(samples=np.array([0, np.nan]), subtype="FLOAT"), "NaN or infinite"),
    "an infinity": (written(samples=np.array([np.inf, 0]), subtype="DOUBLE"), "NaN or infinite"),
    "a link to nowhere": (linked("odd.wav", "/nowhere/at/all.wav"), "cannot be read"),
    "a link to itself": (linked("odd.wav", "odd.wav"), "cannot be read"),
    "a named pipe": (lambda folder: os.mkfifo(folder / "odd.wav"), "no regular file"),
    "a device without end": (linked("odd.wav", "/dev/zero"), "no regular file"),
    "a socket": (bound_socket, "no regular file"),
}


@pytest.fixture
def world(
    tmp_path: Path, write_clips: Callable[..., list[Path]], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Two good folders of four clips, in the working directory."""
    write_clips(tmp_path / "ref", 4)
    write_clips(tmp_path / "eval", 4, first_seed=50)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def store_is_sound() -> None:
    """Every file in the store is a whole entry."""
    store, fingerprint = EmbeddingStore(), get_spec("logmel").fingerprint
    files = [path for path in store.root.rglob("*") if path.is_file()]
    assert all(store.get(path.stem, fingerprint) is not None for path in files), files


@pytest.mark.parametrize("what", SCORED)
def test_scored(world: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    make, words = SCORED[what]
    make(world / "eval")
    assert main(["logmel", "ref", "eval", "-v", "--diagnose", "--diag-out", "cj.csv"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("OTAD: ")
    assert np.isfinite(float(out.split()[1]))
    assert words in err
    assert "Traceback" not in err
    store_is_sound()


@pytest.mark.parametrize("what", REFUSED)
def test_refused(world: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    make, words = REFUSED[what]
    make(world / "eval")
    before = sorted(world.rglob("*"))
    assert main(["logmel", "ref", "eval", "--quiet", "--diag-out", "cj.csv"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert words in err
    assert "odd." in err, "the file is named"
    assert sorted(world.rglob("*")) == before, "nothing is written"
    store_is_sound()
    assert main(["logmel", "ref", "eval", "--on-error", "skip"]) == 0


def test_identical_folders(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logmel", "ref", "ref"]) == 0
    out, err = capsys.readouterr()
    assert abs(float(out.split()[1])) < 1e-6
    assert "audit: evaluated: 4 in the reference too (-v names the clips)" in err


def test_one_clip_against_two_thousand(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    np.save("many.npy", rng.normal(size=(2000, 128)))
    for pair in (["ref/000.wav", "many.npy"], ["many.npy", "ref/000.wav"]):
        assert main(["logmel", *pair]) == 0
        assert np.isfinite(float(capsys.readouterr().out.split()[1]))


@pytest.mark.parametrize("flag", ["--csv", "--diag-out", "--indiv"])
def test_devices_are_not_replaced(
    world: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    os.mkfifo("pipe")
    for path in ("pipe", "/dev/full"):
        assert main(["logmel", "ref", "eval", flag, path]) == 2
        assert "not a regular file" in capsys.readouterr().err
    assert Path("pipe").is_fifo()


def test_home_that_cannot_be_written(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTADTK_CACHE")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/nobody")
    assert main(["logmel", "ref", "eval", "-q"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be written" in line
    assert "--cache-dir" in line


def _tiny_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))


def test_disk_that_is_full(world: Path, cache: Path) -> None:
    command = [sys.executable, "-m", "otadtk", "logmel", "ref", "eval", "-q"]
    run = subprocess.run(command, capture_output=True, text=True, preexec_fn=_tiny_disk)
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert "File too large" in run.stderr
    assert not [path for path in (cache / "embeddings").rglob("*") if path.is_file()]
    assert main(["logmel", "ref", "eval"]) == 0


def test_two_runs_at_once(world: Path) -> None:
    command = [sys.executable, "-m", "otadtk", "logmel", "ref", "eval", "-q"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    scores = [run.communicate()[0] for run in runs]
    assert scores[0] == scores[1] != ""
    store_is_sound()
    assert len(list(EmbeddingStore().root.rglob("*.clip"))) == 8
