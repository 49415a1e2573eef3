"""Embeddings from files: what is read, what is refused, and that scores do not depend on the way."""

from __future__ import annotations

import datetime
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from otadtk import FAD, KAD, OTAD, compute_fad, compute_otad
from otadtk.cli.embeds import main as embeds
from otadtk.cli.pack import main as pack
from otadtk.cli.score import main as score
from otadtk.embed.formats.pack import FORMAT
from otadtk.embed.formats.table import export_set
from otadtk.encoders import get_spec
from otadtk.errors import AudioError, UsageError
from otadtk.files.sealed import seal, unseal

Folders = tuple[Path, Path]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def arrays(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(30, 6)).astype(np.float32)
    return x, (0.5 + rng.normal(size=(25, 6))).astype(np.float32)


def scored(capsys: Capture, *arguments: object) -> float:
    capsys.readouterr()
    code = score([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return float(out.split()[1])


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "otadpack"])
def test_exported_sets_score_as_their_audio(
    folders: Folders, tmp_path: Path, capsys: Capture, suffix: str
) -> None:
    exported = tmp_path / f"ref.{suffix}"
    assert embeds(["-m", "logmel", "-d", str(folders[0]), "--export", str(exported)]) == 0
    from_audio = scored(capsys, "logmel", *folders)
    assert scored(capsys, "logmel", exported, folders[1]) == from_audio
    embedded = OTAD("logmel").embed(exported)
    if suffix != "npy":
        assert embedded.files[2] == exported / "002.wav"
        assert embedded.digests == OTAD("logmel").embed(folders[0]).digests
        assert score(["yamnet", str(exported), str(folders[1])]) == 2
        assert "was made by 'logmel'" in capsys.readouterr().err
    assert embedded.vectors.dtype == np.float32


def test_pack_is_portable_and_bound_to_its_encoder(
    folders: Folders, tmp_path: Path, capsys: Capture
) -> None:
    target = tmp_path / "elsewhere" / "ref.otadpack"
    assert pack([str(folders[0]), "-m", "logmel", "-o", str(target)]) == 0
    before = scored(capsys, "logmel", *folders)
    audits = OTAD("logmel").embed(folders[0]).audits
    for file in folders[0].iterdir():
        file.unlink()
    assert scored(capsys, "logmel", target, folders[1]) == before
    read = OTAD("logmel").embed(target)
    assert read.audits == audits
    assert str(folders[0]).encode() not in target.read_bytes(), "no path of this machine is in it"
    assert score(["yamnet", str(target), str(folders[1])]) == 2
    assert "was made by 'logmel', not by this 'yamnet'" in capsys.readouterr().err
    assert pack([str(folders[1]), "-o", str(tmp_path / "ref.npz")]) == 2
    assert ".otadpack" in capsys.readouterr().err


@pytest.mark.weights
@pytest.mark.parametrize("suffix", ["otadpack", "npz", "parquet"])
def test_a_pack_serves_every_metric_of_its_encoder(
    folders: Folders, tmp_path: Path, capsys: Capture, suffix: str
) -> None:
    """The features of the default variant have the plain embedding among them."""
    wide = tmp_path / "ref.otadpack"
    assert pack([str(folders[0]), "-m", "yamnet", "-o", str(wide)]) == 0
    default = OTAD("yamnet")
    assert scored(capsys, "yamnet", wide, folders[1]) == scored(capsys, "yamnet", *folders)
    if suffix != "otadpack":
        narrow = tmp_path / f"ref.{suffix}"
        export_set(default.embed(folders[0]), folders[0], narrow, default.spec)
        wide = narrow
    for options in (["--fad"], ["--variant", "raw"]):
        from_audio = scored(capsys, "yamnet", *folders, *options)
        assert scored(capsys, "yamnet", wide, folders[1], *options) == pytest.approx(
            from_audio, rel=0.02
        )


@pytest.mark.weights
def test_plain_embeddings_are_compared_raw(
    folders: Folders, tmp_path: Path, capsys: Capture
) -> None:
    plain = tmp_path / "plain.npz"
    assert embeds(["-m", "yamnet", "-d", str(folders[0]), "--export", str(plain)]) == 0
    assert score(["yamnet", str(plain), str(folders[1])]) == 0
    assert "compared as they are (variant raw)" in capsys.readouterr().err
    raw = scored(capsys, "yamnet", *folders, "--variant", "raw")
    assert scored(capsys, "yamnet", plain, folders[1]) == raw
    with pytest.raises(UsageError, match="'raw' takes embeddings as they are"):
        OTAD("yamnet").distance(np.zeros((3, 1024)), np.ones((3, 1024)))


def test_damaged_packs_are_refused(folders: Folders, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "ref.otadpack"
    assert pack([str(folders[0]), "-m", "logmel", "-o", str(target)]) == 0
    content = target.read_bytes()
    unsealed = unseal(content)
    assert unsealed is not None
    header, vectors = unsealed
    for spoilt in (
        content[:-1],
        content[:40] + b"x" + content[41:],
        b"",
        seal({"format": "other"}, vectors),
        seal({**header, "names": ["a"]}, vectors),
        seal({**header, "names": [1] * 8}, vectors),
        seal({**header, "digests": []}, vectors),
        seal({**header, "audits": None}, vectors),
        seal(header, vectors.ravel()),
        seal(header, vectors * np.float32(np.nan)),
    ):
        target.write_bytes(spoilt)
        with pytest.raises((AudioError, UsageError), match=r"ref\.otadpack"):
            OTAD("logmel").embed(target)


def test_given_embeddings_of_any_encoder(
    arrays: tuple[np.ndarray, np.ndarray], tmp_path: Path, capsys: Capture
) -> None:
    x, y = arrays
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "y.npz", embeddings=y, names=np.array([f"clip {i}" for i in range(25)]))
    pair = [tmp_path / "x.npy", tmp_path / "y.npz"]
    assert scored(capsys, "given", *pair) == pytest.approx(compute_otad(x, y), abs=1e-6)
    assert scored(capsys, "given", *pair, "--fad") == pytest.approx(compute_fad(x, y), abs=1e-6)
    worst = OTAD("given").diagnose(*pair).top_k(1)[0][0]
    assert worst.name.startswith("clip ")
    one_each = tmp_path / "folder"
    for i, vector in enumerate(y):
        (one_each / "deep").mkdir(parents=True, exist_ok=True)
        np.save(one_each / "deep" / f"{i:02d}.npy", vector.astype(np.float64))
    folder_score = scored(capsys, "given", pair[0], one_each)
    assert folder_score == pytest.approx(compute_otad(x, y), abs=1e-6)


def test_moments_serve_fad_alone(
    arrays: tuple[np.ndarray, np.ndarray], tmp_path: Path, capsys: Capture
) -> None:
    x, y = (array.astype(np.float64) for array in arrays)
    mean, covariance = x.mean(axis=0), np.cov(x, rowvar=False)
    np.savez(tmp_path / "x.npz", mu=mean, sigma=covariance)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "stats").mkdir()
    np.save(tmp_path / "stats" / "mu.npy", mean)
    np.save(tmp_path / "stats" / "cov.npy", covariance)
    for reference in (tmp_path / "x.npz", tmp_path / "stats"):
        found = FAD("given").score(reference, tmp_path / "y.npy")
        assert found == pytest.approx(compute_fad(x, y.astype(np.float32)), rel=1e-6)
    assert "mean and covariance given by" in FAD("given").embed(tmp_path / "x.npz").note
    for metric in (OTAD("given"), KAD("given")):
        with pytest.raises(UsageError, match="that is for FAD"):
            metric.score(tmp_path / "x.npz", tmp_path / "y.npy")


def test_statistics_of_fadtk(tmp_path: Path, rng: np.random.Generator) -> None:
    frames = rng.normal(size=(300, 128))
    other = rng.normal(size=(200, 128))
    moments = {"vggish.mu": frames.mean(axis=0), "vggish.cov": np.cov(frames, rowvar=False)}
    np.savez(tmp_path / "fma.npz", **moments, **{"dac-44kHz.mu": np.zeros(3)})
    np.save(tmp_path / "y.npy", other)
    found = FAD("vggish", frames="fadtk").score(tmp_path / "fma.npz", tmp_path / "y.npy")
    assert found == pytest.approx(compute_fad(frames, other), rel=1e-5)
    with pytest.raises(UsageError, match="add --frames fadtk"):
        FAD("vggish").embed(tmp_path / "fma.npz")
    with pytest.raises(UsageError, match="it has: dac-44kHz, vggish"):
        FAD("yamnet", frames="own").embed(tmp_path / "fma.npz")


class Payload:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return Path.touch, (Path("run-by-a-pickle"),)  # type: ignore[return-value]


def _bad_files(folder: Path) -> dict[str, tuple[str, str]]:
    """What: (file, words of the message)."""
    good = np.ones((4, 128), dtype=np.float32)
    np.save(folder / "object.npy", np.array([Payload()], dtype=object), allow_pickle=True)
    np.savez(folder / "object.npz", embeddings=np.array([Payload()], dtype=object))
    (folder / "pickle.npy").write_bytes(pickle.dumps(Payload()))
    np.save(folder / "whole.npy", good)
    whole = (folder / "whole.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-50])
    (folder / "huge.npy").write_bytes(whole.replace(b"(4, 128)", b"(10**9,)"[:8]))
    (folder / "lies.npy").write_bytes(whole.replace(b"(4, 128), ", b"(4, 12800)"))
    (folder / "empty.npy").touch()
    (folder / "text.npz").write_text("not an archive")
    np.savez(folder / "cut_.npz", embeddings=good)
    (folder / "cut.npz").write_bytes((folder / "cut_.npz").read_bytes()[:-30])
    np.savez(folder / "two.npz", a=good, b=good)
    np.savez(folder / "none.npz")
    np.savez(folder / "names.npz", embeddings=good, names=np.array(["a"]))
    np.savez(folder / "other.npz", embeddings=good, encoder=np.array("beef"))
    np.savez(folder / "moments.npz", mu=np.zeros(128), cov=np.zeros((3, 3)))
    np.savez(folder / "negative.npz", mu=np.zeros(128), cov=-np.eye(128))
    np.save(folder / "flat.npy", good[0])
    np.save(folder / "deep.npy", good[None])
    np.save(folder / "nothing.npy", good[:0])
    np.save(folder / "complex.npy", good.astype(np.complex64))
    np.save(folder / "nan.npy", np.where(np.eye(4, 128) > 0, np.nan, good))
    np.save(folder / "large.npy", np.full((4, 128), 1e300))
    np.save(folder / "narrow.npy", good[:, :100])
    (folder / "garbage.parquet").write_bytes(b"PAR1 garbage PAR1")
    (folder / "truth.npy").write_bytes(whole.replace(b"(4, 128), ", b"(True,512)"))
    np.savez(folder / "far.npz", mu=np.full(128, 1e200), cov=np.eye(128))
    np.savez(folder / "wide.npz", mu=np.zeros(128), cov=np.eye(128) * 1e300)
    for name, character in (("nul", "a\0b"), ("surrogate", "\ud800")):
        audits = [None] * 4
        header = {"format": FORMAT, "model": "logmel", "encoder": get_spec("logmel").fingerprint}
        lists = {"names": [character, "b", "c", "d"], "digests": list("abcd"), "audits": audits}
        (folder / f"{name}.otadpack").write_bytes(seal({**header, **lists}, good))
    days = pa.array([[datetime.date(2026, 1, 1)] * 128] * 4)
    times = pa.array([datetime.datetime(2026, 1, 1)] * 4)
    parquet.write_table(pa.table({"embedding": days}), folder / "days.parquet")
    parquet.write_table(pa.table({"embedding": times}), folder / "times.parquet")
    (folder / "frames").mkdir()
    np.save(folder / "frames" / "a.npy", good)
    (folder / "mixed").mkdir()
    np.save(folder / "mixed" / "a.npy", good[0])
    np.save(folder / "mixed" / "b.npy", good[0, :100])
    return {
        "objects": ("object.npy", "pickles are never loaded"),
        "objects in an archive": ("object.npz", "pickles are never loaded"),
        "a pickle": ("pickle.npy", "not a numpy array"),
        "cut off": ("cut.npy", "it ends early"),
        "a header that is no shape": ("huge.npy", "not a numpy array"),
        "a header that promises more": ("lies.npy", "promises 204800 bytes"),
        "nothing at all": ("empty.npy", "not a numpy array"),
        "text": ("text.npz", "not a numpy archive"),
        "an archive cut off": ("cut.npz", "not a numpy archive"),
        "two arrays": ("two.npz", "no array named 'embeddings'"),
        "no array": ("none.npz", "it holds: nothing"),
        "too few names": ("names.npz", "1 names for 4 embeddings"),
        "another encoder": ("other.npz", "by another encoder"),
        "moments that do not fit": ("moments.npz", "a covariance (d, d)"),
        "a negative covariance": ("negative.npz", "not a covariance"),
        "one dimension": ("flat.npy", "shape (128,)"),
        "three dimensions": ("deep.npy", "shape (1, 4, 128)"),
        "no rows": ("nothing.npy", "shape (0, 128)"),
        "complex numbers": ("complex.npy", "holds complex64"),
        "NaN": ("nan.npy", "NaN, infinite or too large values in 4 of 4 rows"),
        "beyond float32": ("large.npy", "too large"),
        "another dimension": ("narrow.npy", "give the model 'given'"),
        "a table that is none": ("garbage.parquet", "not a table"),
        "a shape of booleans": ("truth.npy", "shape (True, 512) is not one of whole numbers"),
        "a far mean": ("far.npz", "values beyond 1e+100"),
        "a wide covariance": ("wide.npz", "values beyond 1e+100"),
        "a name with NUL": ("nul.otadpack", "which no output can hold"),
        "a name that is no text": ("surrogate.otadpack", "which no output can hold"),
        "a table of dates": ("days.parquet", "not lists of numbers"),
        "a table of times": ("times.parquet", "not lists of numbers"),
        "frames without --frames": ("frames", "4 frames, not one vector"),
        "mixed dimensions": ("mixed", "100 dimensions"),
    }


def test_bad_files_of_embeddings(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "good.npy", np.ones((4, 128)))
    cases = _bad_files(tmp_path)
    before = set(tmp_path.rglob("*"))
    for what, (file, words) in cases.items():
        code = score(["logmel", file, "good.npy", "--fad"])
        out, err = capsys.readouterr()
        assert code in (2, 3), f"{what}: {err}"
        assert words in err, f"{what}: {err}"
        assert len(err.strip().splitlines()) == 1, f"{what}: {err}"
        assert out == ""
    assert set(tmp_path.rglob("*")) == before
    assert not Path("run-by-a-pickle").exists()


def test_given_takes_no_audio(folders: Folders) -> None:
    with pytest.raises(UsageError, match="takes embeddings"):
        OTAD("given").score(*folders)


def test_audio_beside_arrays_is_audio(folders: Folders) -> None:
    np.save(folders[0] / "x.npy", np.ones(3))
    assert len(OTAD("logmel").embed(folders[0]).files) == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-m logmel -d {ref} --export x.txt", "must end in one of"),
        ("-m logmel yamnet -d {ref} --export x.npy", "one model and one folder"),
        ("-m logmel -d {ref} {eval} --export x.npy", "one model and one folder"),
        ("-m vggish -d {ref} --export x.npy --layout kadtk", "ask for one of them"),
        ("-m logmel -d {ref} --layout kadtk", "kadtk has no frames of 'logmel'"),
    ],
)
def test_exports_that_make_no_sense(
    folders: Folders, capsys: Capture, arguments: str, words: str
) -> None:
    ref, evaluated = folders
    assert embeds(arguments.format(ref=ref, eval=evaluated).split()) == 2
    assert words in capsys.readouterr().err


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "x.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r'pip install "otadtk-audio\[parquet\]"'):
        OTAD("logmel").embed(tmp_path / "x.parquet")


@pytest.mark.parametrize("value", [0.0, -1.0, 1e300, float("nan"), float("inf")])
def test_packs_with_odd_audits_give_strictly_valid_json(
    tmp_path: Path, capsys: Capture, value: float, rng: np.random.Generator
) -> None:
    audit = {"seconds": 1.0, "sample_rate": 16_000, "channels": 1, "peak": 0.5, "clipped": 0.0}
    fingerprint = get_spec("logmel").fingerprint
    for name in ("rms", "seconds", "peak", "sample_rate"):
        for side, odd in (("a", False), ("b", True)):
            facts = {**audit, "rms": 0.1, **({name: value} if odd else {})}
            header = {"format": FORMAT, "model": "logmel", "encoder": fingerprint}
            lists = {
                "names": [f"{side}{i}" for i in range(20)],
                "digests": [f"{side}{i}" for i in range(20)],
                "audits": [facts] * 20,
            }
            vectors = rng.normal(size=(20, 128)).astype(np.float32)
            (tmp_path / f"{side}.otadpack").write_bytes(seal({**header, **lists}, vectors))
        packs = [str(tmp_path / f"{side}.otadpack") for side in "ab"]
        assert score(["logmel", *packs, "--json", "-", "-q"]) == 0

        def refuse(constant: str) -> float:
            raise AssertionError(f"{constant} is not JSON")

        json.loads(capsys.readouterr().out, parse_constant=refuse)
