"""The worst clips in a terminal and in a pipe."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from otadtk.cli.score import main
from otadtk.cli.shared.worst_clips import print_worst
from otadtk.metrics.diagnostics import OTADDiagnostics


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


def test_silent_clips_come_first_in_a_terminal_but_not_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnostics = OTADDiagnostics(
        score=1.0,
        cj=np.array([0.3, 0.1, 0.2, 0.4]),
        files=[Path(f"set/{name}.wav") for name in "abcd"],
        model_name="yamnet",
        variant="raw",
        epsilon=0.1,
        flags=[(), ("silent",), ("mostly-silent",), ()],
    )
    print_worst(diagnostics, 2)
    piped = capsys.readouterr().out.splitlines()[-2:]
    assert [line.split()[2] for line in piped] == [str(Path("set/d.wav")), str(Path("set/a.wav"))]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_worst(diagnostics, 2)
    *_, first, second, third, note = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in (first, second, third)] == ["4", "1", "2"]
    assert "b.wav" in first
    assert "SILENT" in first
    assert note.strip().startswith("Silent clips come first")
