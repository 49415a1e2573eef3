"""The options of the engine: which make no sense, and what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from otadtk.cli.compare import main as compare
from otadtk.cli.embeds import main as embeds
from otadtk.cli.experiments import main as experiments
from otadtk.cli.score import main as score
from otadtk.engine import LocalEngine


@pytest.mark.parametrize(
    "flag", ["--ray-address=auto", "--num-actors=2", "--batch-size=8", "--decode=tasks"]
)
@pytest.mark.parametrize("command", ["embeds", "score", "compare", "experiments"])
def test_ray_options_without_ray(
    command: str, flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path)
    run = {
        "embeds": lambda: embeds(["-m", "logmel", "-d", place, flag]),
        "score": lambda: score(["logmel", place, place, flag]),
        "compare": lambda: compare(["logmel", place, place, place + "/x", flag]),
        "experiments": lambda: experiments(["rank-one", "--data", place, flag]),
    }
    assert run[command]() == 2
    assert f"{flag.partition('=')[0]} belongs to --engine ray" in capsys.readouterr().err


def test_without_ray_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert embeds(["-m", "logmel", "-d", str(tmp_path), "--engine", "ray"]) == 2
    assert 'needs Ray: pip install "otadtk-audio[ray]"' in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "ray://127.0.0.1:1"])
def test_address_where_nobody_listens(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.wav").touch()
    command = ["-m", "logmel", "-d", str(tmp_path), "--engine", "ray", "--ray-address", address]
    assert embeds(command) == 2
    assert f"No Ray cluster answers at {address}: " in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--decode=actors", "--num-actors=2", "--gpus-per-actor=0.5"])
def test_every_engine_option_serves_an_audit(
    flag: str,
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("otadtk.cli.score.chosen_engine", lambda options: LocalEngine())
    assert score(["logmel", *map(str, folders), "--audit-only", "--engine", "ray", flag]) == 0
    assert capsys.readouterr().out == "audit: no findings\n"
