"""``otadtk --audit-only``: findings without a score."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from otadtk.cli.score import main


def test_reports_and_scores_nothing(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(folders[0] / "002.wav", folders[1] / "stolen.wav")
    assert main(["logmel", *map(str, folders), "--audit-only"]) == 0
    out, err = capsys.readouterr()
    assert out == "audit: 1 finding\n"
    assert "stolen.wav" in err


def test_bad_audio_is_a_failure_after_the_whole_report(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[1] / "text.wav").write_text("not audio")
    shutil.copy(folders[1] / "000.wav", folders[1] / "copy.wav")
    assert main(["logmel", *map(str, folders), "--audit-only"]) == 3
    err = capsys.readouterr().err
    assert "text.wav" in err
    assert "1 exact copy" in err
    assert main(["logmel", *map(str, folders), "--audit-only", "--on-error", "skip"]) == 0


def test_options_that_do_nothing(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for option in (["--fad"], ["--epsilon", "1"], ["--diagnose"], ["--csv", "x.csv"]):
        assert main(["logmel", *map(str, folders), "--audit-only", *option]) == 2
        assert f"{option[0]} does nothing with --audit-only" in capsys.readouterr().err
