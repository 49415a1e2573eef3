"""The worst clips in a terminal and in a pipe."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from otadtk.cli.score import main


def test_a_terminal_gets_bars(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["logmel", *map(str, folders), "--diagnose", "--top-k", "3"]
    assert main(command) == 0
    assert "█" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert lines[0].split()[1] == "█" * 16
    lengths = [line.count("█") for line in lines]
    assert lengths == sorted(lengths, reverse=True)
