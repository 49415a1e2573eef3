"""Engines without a cluster: options that make no sense, lazy imports, bounded planning, losses."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from otadtk.audio import list_audio
from otadtk.cli.compare import main as compare
from otadtk.cli.embeds import main as embeds
from otadtk.cli.experiments import main as experiments
from otadtk.cli.score import main as score
from otadtk.embed import _Files
from otadtk.engine import Engine, Lost
from otadtk.engine.batches import Queue
from otadtk.errors import OtadtkError


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
    assert 'needs Ray: pip install "otadtk[ray]"' in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "ray://127.0.0.1:1"])
def test_address_where_nobody_listens(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.wav").touch()
    command = ["-m", "logmel", "-d", str(tmp_path), "--engine", "ray", "--ray-address", address]
    assert embeds(command) == 2
    assert f"No Ray cluster answers at {address}: " in capsys.readouterr().err


def test_planning_holds_names_only(tmp_path: Path) -> None:
    """5,000 files: less than 400 bytes a file at the peak, so that a million take 0.4 GB."""
    for folder in range(5):
        (tmp_path / f"{folder:03d}").mkdir()
        for number in range(1000):
            (tmp_path / f"{folder:03d}" / f"clip-{number:05d}.wav").touch()
    tracemalloc.start()
    files = _Files(tmp_path, recursive=True)
    queue = Queue(files, 64)
    seen = 0
    while queue:
        seen += len(queue.take().items)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == 5000
    assert peak < 400 * 5000


def test_order_of_names_is_that_of_paths(tmp_path: Path) -> None:
    for name in ("a/x.wav", "a b/x.wav", "a.b/x.wav", "a.wav", "b.wav", "a/0/x.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list_audio(tmp_path) == sorted(list_audio(tmp_path), key=lambda name: Path(name).parts)


class Losing(Engine):
    """Loses the second item."""

    def run(self, prepare: Any, items: Any, **how: Any) -> Iterator[tuple[int, Any]]:
        yield from prepare()(iter([(0, items[0])]))
        yield 1, Lost("its worker died 3 times at it")

    def close(self) -> None:
        """Nothing."""


def test_lost_part_is_an_error() -> None:
    with pytest.raises(OtadtkError, match="numbers, part 2: its worker died 3 times"):
        Losing().map(lambda: abs, [1, 2], title="numbers")
