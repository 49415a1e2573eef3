"""Ctrl-C during a run on Ray: the store stays sound, and the next run continues."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otadtk.cli.embeds import main as embeds
from tests.engine.conftest import PATIENCE, until

CLIPS = 60
BEFORE = 13
"""Clips that are encoded before the interruption: two batches of five and a part of the third."""


def entries(root: Path) -> dict[str, bytes]:
    """The entries of a store by name, without what a kill has left half written."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.clip")}


@pytest.mark.parametrize("slow_encoder", [BEFORE], indirect=True)
def test_interrupted_run_is_continued(
    cluster: Any,
    tmp_path: Path,
    write_clips: Callable[..., list[Path]],
    slow_encoder: tuple[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    clips, far, near = tmp_path / "clips", tmp_path / "far", tmp_path / "near"
    write_clips(clips, CLIPS, seconds=0.3)
    model, marks = slow_encoder
    work = ["-m", model, "-d", str(clips), "--cache-dir"]
    on_ray = ["--engine", "ray", "--ray-address", cluster.address]
    on_ray += ["--num-actors", "1", "--batch-size", "5"]

    command = [sys.executable, "-m", "otadtk.cli.embeds", *work, str(far), *on_ray]
    pipe = subprocess.PIPE
    first = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    try:
        until(lambda: len(list(far.rglob("*.clip"))) >= 10 or first.poll() is not None)
        first.send_signal(signal.SIGINT)
        _, errors = first.communicate(timeout=PATIENCE)
    finally:
        first.kill()
    assert first.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    kept = entries(far)
    assert 10 <= len(kept) <= BEFORE
    (marks / "go").touch()

    assert embeds([*work, str(far), *on_ray]) == 0
    output = capsys.readouterr().out
    now = re.search(rf"{CLIPS} clips, (\d+) embedded now", output)
    assert now is not None, output
    assert CLIPS - BEFORE <= int(now[1]) <= CLIPS - len(kept)

    assert embeds([*work, str(near)]) == 0
    whole = entries(near)
    assert {name: whole.get(name) for name in kept} == kept, "an entry is not what it should be"
    assert entries(far) == whole
