"""The audit before scoring: findings in each set and between the sets, and no false ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.synthesis import synthesise
from otadtk.embed import BadClip, EmbeddingSet, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.evaluation.audit import PairAudit, audit_sets
from otadtk.evaluation.audit_lines import summary_line
from tests.embedding import embed

WriteClips = Callable[..., list[Path]]
RATE = 16_000


def audit_folders(reference: Path, evaluated: Path) -> PairAudit:
    encoder, store = LazyEncoder(get_spec("logmel"), device="cpu"), EmbeddingStore()
    sets = [embed(folder, encoder, store, on_error="skip") for folder in (reference, evaluated)]
    return audit_sets(*sets, minimum_seconds=0.5)


def given_set(audits: list[ClipAudit | None], seed: int = 0, dim: int = 8) -> EmbeddingSet:
    vectors = np.random.default_rng(seed).normal(size=(len(audits), dim)).astype(np.float32)
    files = tuple(Path(f"{seed}-{i}.wav") for i in range(len(audits)))
    digests = tuple(f"{seed}-{i}" for i in range(len(audits)))
    return EmbeddingSet(vectors, files, tuple(audits), digests, (), 0)


def fact(seconds: float = 5.0, rate: int = 44_100, rms: float = 0.1) -> ClipAudit:
    return ClipAudit(seconds, rate, 1, 0.5, 0.0, rms=rms, silent=0.0, missing=0.0)


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
    bad = {
        "silent": np.zeros(RATE),
        "mostly-silent": half,
        "clipped": np.clip(9 * clip, -1, 1),
        "short": clip[:1_600],
    }
    for name, samples in bad.items():
        soundfile.write(evaluated / f"{name}.wav", samples, RATE, subtype="PCM_16")
    (evaluated / "truncated.wav").write_bytes((evaluated / "000.wav").read_bytes()[:20_000])
    (evaluated / "text.wav").write_text("not audio")
    soundfile.write(evaluated / "nan.wav", np.array([0.0, np.nan]), RATE, subtype="FLOAT")
    shutil.copy(evaluated / "001.wav", evaluated / "copy.wav")
    found = audit_folders(reference, evaluated).evaluated
    assert {flag: [f.stem for f in files] for flag, files in found.flagged.items()} == {
        **{name: [name] for name in bad},
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
    audit = audit_sets(reference, evaluated)
    (contrast,) = audit.contrasts
    assert words in str(contrast)
    assert audit.to_dict()["contrasts"] == [str(contrast)]
    few = given_set([fact(**changed) for _ in range(2)], seed=1)  # type: ignore[arg-type]
    assert audit_sets(reference, few).contrasts == (), "two clips say nothing of a distribution"


def test_small_differences_are_no_contrast() -> None:
    reference = given_set([fact() for _ in range(40)])
    evaluated = given_set([fact(seconds=5.1, rms=0.11) for _ in range(40)], seed=1)
    assert audit_sets(reference, evaluated).contrasts == ()


def test_what_is_not_known_is_counted_not_guessed() -> None:
    old = ClipAudit(5.0, 44_100, 1, 0.5, 0.0)
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


def test_what_the_encoder_cannot_hear_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, power in (("low", 0.0), ("high", 0.05)):
        (tmp_path / name).mkdir()
        for take in range(4):
            low = synthesise("engine", take, 1.0, 44_100)
            # white noise at 44.1 kHz has nearly two thirds of its power above 8 kHz
            clip = low + power * rng.normal(size=len(low))
            soundfile.write(tmp_path / name / f"{take}.wav", 0.5 * clip, 44_100)
    audit = audit_folders(tmp_path / "low", tmp_path / "high")
    assert audit.reference.unheard == ()
    assert len(audit.evaluated.unheard) == 4
    assert "4 evaluated clips are not heard in full" in "\n".join(audit.warnings())


def test_one_line_for_all_findings_names_the_systems() -> None:
    reference = given_set([fact() for _ in range(40)])
    like = given_set([fact() for _ in range(40)], seed=1)
    short, shorter = (
        given_set([fact(seconds=s) for _ in range(40)], seed=2 + int(s)) for s in (3.0, 2.0)
    )
    sets = {"like": like, "short": short, "shorter": shorter}
    line = summary_line({name: audit_sets(reference, side) for name, side in sets.items()})
    assert line == (
        "unlike the reference in duration (median 5 s): short (3 s), shorter (2 s) "
        "(--duration S makes them alike)"
    )
    assert summary_line({"like": audit_sets(reference, like)}) == ""


def test_the_line_counts_each_kind(folders: tuple[Path, Path]) -> None:
    shutil.copy(folders[0] / "002.wav", folders[1] / "stolen.wav")
    shutil.copy(folders[0] / "002.wav", folders[0] / "again.wav")
    line = summary_line({"evaluated": audit_folders(*folders)})
    assert line == "reference: 1 exact copy; evaluated: 1 in the reference too"
