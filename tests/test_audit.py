"""The audit before scoring: what it finds in each set, between the sets, and what it leaves alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio import AudioReader, Audit
from otadtk.audit import PairAudit, audit_sets
from otadtk.cli.score import main
from otadtk.embed import BadClip, EmbeddingSet, LazyEncoder, embed
from otadtk.encoders import get_spec
from otadtk.neighbours import nearest_within, usual_nearest_distance
from otadtk.store import EmbeddingStore
from otadtk.synthesis import synthesise

WriteClips = Callable[..., list[Path]]
RATE = 16_000


def audit_folders(reference: Path, evaluated: Path) -> PairAudit:
    encoder, store = LazyEncoder(get_spec("logmel"), device="cpu"), EmbeddingStore()
    sets = [embed(place, encoder, store, on_error="skip") for place in (reference, evaluated)]
    return audit_sets(*sets, minimum_seconds=0.5)


def given_set(audits: list[Audit | None], seed: int = 0, dim: int = 8) -> EmbeddingSet:
    vectors = np.random.default_rng(seed).normal(size=(len(audits), dim)).astype(np.float32)
    files = tuple(Path(f"{seed}-{i}.wav") for i in range(len(audits)))
    digests = tuple(f"{seed}-{i}" for i in range(len(audits)))
    return EmbeddingSet(vectors, files, tuple(audits), digests, (), 0)


def fact(seconds: float = 5.0, rate: int = 44_100, rms: float = 0.1) -> Audit:
    return Audit(seconds, rate, 1, 0.5, 0.0, rms=rms, silent=0.0, missing=0.0)


def test_good_folders_have_no_findings(folders: tuple[Path, Path]) -> None:
    audit = audit_folders(*folders)
    assert audit.warnings() == []
    assert (audit.reference.clips, audit.evaluated.clips) == (8, 8)
    assert audit.reference.sample_rates == {RATE: 8}
    assert audit.reference.seconds is not None
    assert audit.reference.seconds.median == pytest.approx(1.2)


def test_everything_odd_in_a_set(folders: tuple[Path, Path]) -> None:
    reference, evaluated = folders
    clip = synthesise("engine", 0, 2.0)
    half = np.concatenate([np.zeros(30_000), clip[:10_000]])
    spoilt = {
        "silent": np.zeros(RATE),
        "mostly-silent": half,
        "clipped": np.clip(9 * clip, -1, 1),
        "short": clip[:1_600],
    }
    for name, samples in spoilt.items():
        soundfile.write(evaluated / f"{name}.wav", samples, RATE, subtype="PCM_16")
    (evaluated / "truncated.wav").write_bytes((evaluated / "000.wav").read_bytes()[:20_000])
    (evaluated / "text.wav").write_text("not audio")
    soundfile.write(evaluated / "nan.wav", np.array([0.0, np.nan]), RATE, subtype="FLOAT")
    shutil.copy(evaluated / "001.wav", evaluated / "copy.wav")
    found = audit_folders(reference, evaluated).evaluated
    assert {flag: [f.stem for f in files] for flag, files in found.flagged.items()} == {
        **{name: [name] for name in spoilt},
        "truncated": ["truncated"],
    }
    assert [clip.path.name for clip in found.unreadable] == ["text.wav"]
    assert [path.name for path in found.not_finite] == ["nan.wav"]
    assert [[f.stem for f in group] for group in found.duplicates] == [["001", "copy"]]


def test_leakage_by_bytes_and_by_embedding(folders: tuple[Path, Path]) -> None:
    reference, evaluated = folders
    shutil.copy(reference / "002.wav", evaluated / "stolen.wav")
    samples, rate = soundfile.read(reference / "005.wav")
    soundfile.write(evaluated / "converted.flac", samples, rate, subtype="PCM_24")
    soundfile.write(evaluated / "louder.wav", 1.005 * samples, rate)
    leaks = audit_folders(reference, evaluated).leakage
    assert [(k.evaluated.name, k.reference.name, k.same_bytes) for k in leaks] == [
        ("converted.flac", "005.wav", False),
        ("louder.wav", "005.wav", False),
        ("stolen.wav", "002.wav", True),
    ]


def test_silence_in_both_sets_is_no_leak(folders: tuple[Path, Path]) -> None:
    for folder, seconds in zip(folders, (1, 2), strict=True):
        soundfile.write(folder / "silence.wav", np.zeros(seconds * RATE), RATE)
    assert audit_folders(*folders).leakage == ()


def test_a_set_against_itself_leaks_wholly(folders: tuple[Path, Path]) -> None:
    audit = audit_folders(folders[0], folders[0])
    assert len(audit.leakage) == 8
    assert "8 evaluated clips are in the reference too" in audit.warnings()[0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rms": 0.01}, "loudness: median -20.0 dB in the reference, -40.0 dB"),
        ({"seconds": 10.0}, "duration: median 5 s in the reference, 10 s"),
        ({"rate": 16_000}, "sample rate: mostly 44100 Hz in the reference, 16000 Hz"),
    ],
)
def test_unlike_sets(changed: dict[str, float], words: str) -> None:
    reference = given_set([fact() for _ in range(40)])
    evaluated = given_set([fact(**changed) for _ in range(40)], seed=1)  # type: ignore[arg-type]
    (line,) = audit_sets(reference, evaluated).contrasts
    assert words in line
    few = given_set([fact(**changed) for _ in range(2)], seed=1)  # type: ignore[arg-type]
    assert audit_sets(reference, few).contrasts == (), "two clips say nothing of a distribution"


def test_small_differences_are_no_contrast() -> None:
    reference = given_set([fact() for _ in range(40)])
    evaluated = given_set([fact(seconds=5.1, rms=0.11) for _ in range(40)], seed=1)
    assert audit_sets(reference, evaluated).contrasts == ()


def test_what_is_not_known_is_counted_not_guessed() -> None:
    old = Audit(5.0, 44_100, 1, 0.5, 0.0)
    audit = audit_sets(given_set([None, None, fact()]), given_set([old, fact()], seed=1))
    assert (audit.reference.unknown, audit.evaluated.unknown) == (2, 1)
    assert audit.warnings() == []
    assert audit_sets(given_set([None]), given_set([None], seed=1)).reference.loudness is None


def test_json_has_all_of_it(folders: tuple[Path, Path]) -> None:
    shutil.copy(folders[0] / "002.wav", folders[1] / "stolen.wav")
    audit = audit_folders(*folders)
    plain = audit.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["leakage"][0]["evaluated"] == str(folders[1] / "stolen.wav")
    bad = EmbeddingSet(np.zeros((0, 2), np.float32), (), (), (), (BadClip(Path("a"), "why"),), 0)
    assert audit_sets(bad, bad).to_dict()["reference"]["unreadable"] == [
        {"path": "a", "reason": "why"}
    ]


def test_nearest_within_equals_all_pairs(rng: np.random.Generator) -> None:
    x = rng.normal(size=(300, 40)).astype(np.float32)
    y = np.concatenate([x[:20] + 0.01 * rng.normal(size=(20, 40)), rng.normal(size=(50, 40))])
    y = y.astype(np.float32)
    distances = np.linalg.norm(y[:, None] - x[None], axis=2)
    usual = usual_nearest_distance(x)
    within = np.linalg.norm(x[:, None] - x[None], axis=2) + np.diag(np.full(300, np.inf))
    assert usual == pytest.approx(float(np.median(within.min(axis=1))), rel=1e-3)
    found = {j: (i, d) for j, i, d in nearest_within(x, y, 0.15 * usual)}
    assert set(found) == set(np.flatnonzero(distances.min(axis=1) < 0.15 * usual))
    for j, (i, distance) in found.items():
        assert i == distances[j].argmin()
        assert distance == pytest.approx(distances[j].min(), rel=1e-3)


@pytest.mark.parametrize(
    ("promised", "missing"), [(32_000, 0.5), (16_000, 0.0), (8_000, 0.0), (0xFFFFFFFF, 0.0)]
)
def test_promises_of_a_wav_header(tmp_path: Path, promised: int, missing: float) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, synthesise("bell", 0, 0.5), RATE, subtype="PCM_16")
    content = bytearray(path.read_bytes())
    place = content.index(b"data") + 4
    content[place : place + 4] = promised.to_bytes(4, "little")
    path.write_bytes(content)
    reader = AudioReader(path, RATE)
    assert sum(len(block) for block in reader) > 0
    assert reader.audit.missing == pytest.approx(missing)


def test_loudness_and_silent_share(tmp_path: Path) -> None:
    tone = 0.5 * np.sin(np.arange(16_000) * 0.1)
    clip = np.concatenate([tone, np.zeros(48_000)])
    soundfile.write(tmp_path / "a.wav", np.stack([clip, clip], axis=1), RATE, subtype="FLOAT")
    reader = AudioReader(tmp_path / "a.wav", RATE)
    list(reader)
    assert reader.audit.rms == pytest.approx(0.5 / np.sqrt(8), rel=1e-3)
    assert reader.audit.silent == pytest.approx(0.75, abs=0.001)
    assert reader.audit.flags(0.1) == ("mostly-silent",)


class TestAuditOnly:
    def test_reports_and_scores_nothing(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        shutil.copy(folders[0] / "002.wav", folders[1] / "stolen.wav")
        assert main(["logmel", *map(str, folders), "--audit-only"]) == 0
        out, err = capsys.readouterr()
        assert out == "audit: 1 finding\n"
        assert "stolen.wav" in err

    def test_bad_audio_is_a_failure_after_the_whole_report(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folders[1] / "text.wav").write_text("not audio")
        shutil.copy(folders[1] / "000.wav", folders[1] / "copy.wav")
        assert main(["logmel", *map(str, folders), "--audit-only"]) == 3
        err = capsys.readouterr().err
        assert "text.wav" in err
        assert "1 exact copy" in err
        assert main(["logmel", *map(str, folders), "--audit-only", "--on-error", "skip"]) == 0

    def test_options_that_do_nothing(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        for option in (["--fad"], ["--epsilon", "1"], ["--diagnose"], ["--csv", "x.csv"]):
            assert main(["logmel", *map(str, folders), "--audit-only", *option]) == 2
            assert f"{option[0]} does nothing with --audit-only" in capsys.readouterr().err
