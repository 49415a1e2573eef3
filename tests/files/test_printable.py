"""Names of others cannot break or colour the lines of a terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from otadtk.cli.score import main
from otadtk.files.printable import readable


def test_control_characters_are_escaped() -> None:
    assert readable("a\nb\x1b[31m\u202ec\ud800") == "a\\nb\\x1b[31m\\u202ec\\ud800"
    assert readable("звук 🔊 👩‍🚀") == "звук 🔊 👩‍🚀"


def test_names_stay_on_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 3))
    names = np.array(["a\nb", "\x1b[31mred", "c", "d", "e", "f"])
    np.savez(tmp_path / "x.npz", embeddings=vectors, names=names)
    same = [str(tmp_path / "x.npz")] * 2  # the audit names clips that are on both sides
    assert main(["given", *same, "--no-null", "--diagnose", "-v"]) == 0
    out, err = capsys.readouterr()
    assert all(line.startswith("otadtk: ") for line in err.splitlines())
    assert "a\\nb" in err
    assert "\\x1b[31mred" in out
    assert "\x1b" not in out + err
