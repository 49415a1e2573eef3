"""The trend: steps in order, what is more than noise, and only what is new is embedded and solved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from otadtk.audio.synthesis import synthesise
from otadtk.cli.trend import main
from otadtk.documents.reading import read_document
from otadtk.metrics import OTAD
from otadtk.tracking.record import Record
from otadtk.tracking.trend import Trend, holm, in_order

RATE = 16_000
CLIPS = 8
OPTIONS = ("--epsilon", "1")


def write_step(folder: Path, seed: int, *, noise: float = 0.0) -> None:
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for k in range(CLIPS):
        clip = synthesise("bell", 100 * seed + k, 0.5, RATE)
        clip = np.clip(clip + noise * rng.normal(size=clip.shape), -1.0, 1.0)
        soundfile.write(folder / f"<{k}>.wav", clip, RATE)


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    write_step(folder / "real", 9)
    for number, noise in ((500, 0.5), (1000, 0.0), (1500, 0.0)):
        write_step(folder / f"step_{number}", number // 500, noise=noise)
    return folder


def test_only_what_is_new_is_embedded_and_solved(
    training: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(training)
    solved: list[int] = []
    measure = OTAD.measure

    def counting(self: OTAD, reference: Any, evaluated: Any) -> Any:
        solved.append(evaluated.encoded)
        return measure(self, reference, evaluated)

    monkeypatch.setattr(OTAD, "measure", counting)
    assert run("logmel", "real", "step_*/", *OPTIONS) == 0
    out, err = capsys.readouterr()
    assert solved == [CLIPS] * 3
    assert "3 steps scored now, 0 as before; 24 clips embedded" in err
    assert [line.split()[0] for line in out.splitlines()[1:4]] == [
        "step_500", "step_1000", "step_1500",
    ]  # fmt: skip
    assert "Changes beyond noise from one step to the next: step_1000 (better)." in out
    assert Path("trend/trend.png").read_bytes().startswith(b"\x89PNG")

    solved.clear()
    write_step(training / "step_2000", 4, noise=0.5)
    assert run("logmel", "real", "step_*/", *OPTIONS) == 0
    out, err = capsys.readouterr()
    assert solved == [CLIPS]  # the new step, all of whose clips were embedded now
    assert "1 step scored now, 3 as before; 8 clips embedded" in err
    assert "step_2000 (worse)" in out
    assert "The best was step_1" in out and "more than noise" in out

    # other settings are another trend; a damaged document is made anew
    solved.clear()
    (document,) = Path("trend/steps").glob("step_1500-*.json")
    document.write_text("{")
    assert run("logmel", "real", "step_*/", *OPTIONS, "-q") == 0
    assert solved == [0]
    solved.clear()
    assert run("logmel", "real", "step_500", "--epsilon", "2", "-q", "--out", "trend") == 0
    assert solved == [0]


def records(training: Path) -> dict[str, Record]:
    files = sorted((training / "trend" / "steps").glob("step_*.json"))
    return {
        file.name.partition("-")[0]: Record.of(read_document(file), "OTAD", str(file))
        for file in files
    }


def test_the_order_of_steps(training: Path) -> None:
    some = next(iter(records(training).values()))

    def order(*names: str) -> list[tuple[str, int]]:
        trend = in_order(dict.fromkeys(names, some))
        return [(step.name, step.number) for step in trend.steps]

    assert order("step_10", "step_9") == [("step_9", 9), ("step_10", 10)]
    assert order("epoch=2-step=30", "epoch=1-step=20") == [
        ("epoch=1-step=20", 20), ("epoch=2-step=30", 30),
    ]  # fmt: skip
    assert order("b10", "b2", "last") == [("b2", 1), ("b10", 2), ("last", 3)]
    assert order("a1", "b1") == [("a1", 1), ("b1", 2)]
    alone: Trend = in_order({"step_1": some})
    assert alone.changes == () and alone.since_best is None and alone.got_worse() == []
    same = in_order({"step_1": some, "step_2": some})
    assert same.best.name == "step_2" and not same.changes[0].beyond_noise


def test_changes_are_adjusted_for_their_number() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_watch_takes_new_steps_and_ends_on_interrupt(training: Path, tmp_path: Path) -> None:
    for name in ("real", "step_500"):
        (tmp_path / name).symlink_to(training / name)
    command = [sys.executable, "-c", "from otadtk.cli.trend import main; raise SystemExit(main())"]
    command += ["logmel", "real", "step_*", *OPTIONS, "--watch", "--every", "1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr is not None
        lines = iter(watching.stderr.readline, "")
        assert any("step_500: 8 clips" in line for line in lines)
        (tmp_path / "step_700").mkdir()
        (tmp_path / "step_700" / "a.wav").write_bytes(b"no audio")
        past = time.time() - 60
        for path in (tmp_path / "step_700" / "a.wav", tmp_path / "step_700"):
            os.utime(path, (past, past))
        (tmp_path / "step_900").symlink_to(training / "step_1000")
        assert any("step_700 is left out: " in line for line in lines)
        assert any("step_900: 8 clips" in line for line in lines)
        assert any("the picture is in" in line for line in lines)
        watching.send_signal(signal.SIGINT)
        assert any("ended; 2 steps are in trend" in line for line in lines)
        assert watching.wait() == 0
    assert (tmp_path / "trend" / "trend.html").is_file()


def test_bad_input(
    training: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(training)
    cases = [
        (("logmel", "real", "nothing_*/"), "No step matches nothing_*/", 2),
        (("logmel", "real", "nothing"), "There is no file or folder nothing", 3),
        (("logmel", "nowhere", "step_500"), "There is no file or folder nowhere", 3),
        (("logmel", "real", "step_500", "--every", "3"), "--every belongs to --watch", 2),
        (("logmel", "real", "step_500", "--watch"), "--watch needs a pattern in quotes", 2),
        (("logmel", "real", "step_500", "--metrics", "otad,fad"), "one metric, not otad, fad", 2),
        (("logmel", "real", "step_500", "--out", "real/<0>.wav"), "cannot be written", 2),
    ]
    for arguments, message, code in cases:
        out = () if "--out" in arguments else ("--out", "bad")
        assert run(*arguments, *out, "-q") == code, arguments
        assert message in capsys.readouterr().err
        assert not Path("bad/trend.html").exists()
