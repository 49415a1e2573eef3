"""What all tests share: a cache of their own, small folders of sound, the loaded YAMNet, a browser."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import HealthCheck, settings

from otadtk import weights
from otadtk.adapter.published import fetch_published
from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.encoders import get_encoder, get_spec
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.errors import WeightsError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RATE = 16_000
INSIST = "OTADTK_REQUIRE_BROWSER"
# a shell in the background ignores Ctrl-C, and so would the commands that tests interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)  # two threads that wait for each other on busy cores crawl
# the same examples in every run, and no complaint about a busy machine; ``make fuzz`` looks further
settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of several processes one runs all tests of a file, and one all that share the Ray cluster."""
    for item in items:
        folder = item.path.parent
        group = folder if folder.name == "engine" else item.path
        item.add_marker(pytest.mark.xdist_group(str(group)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports travel between processes; names of clips that are no UTF-8 would not."""
    report = yield
    report.sections = [
        (title, text.encode(errors="replace").decode()) for title, text in report.sections
    ]
    return report


@pytest.fixture(scope="session")
def yamnet() -> YamnetEncoder:
    encoder = get_encoder("yamnet", device="cpu")
    assert isinstance(encoder, YamnetEncoder)
    return encoder


@pytest.fixture(scope="session")
def converted_yamnet(yamnet: YamnetEncoder) -> Path:
    """The converted weights in the user's cache, which ``make setup`` fills."""
    path = weights.find_converted("yamnet", get_spec("yamnet").weights)
    assert path is not None
    return path


@pytest.fixture(autouse=True)
def cache(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    converted_yamnet: Path,
) -> Path:
    """A cache directory of the test's own, with the YAMNet weights in it."""
    for name in ("OTADTK_WEIGHTS", "OTADTK_OFFLINE", "OTADTK_CHECKPOINTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONWARNINGS", "error")  # in commands that are processes, as in this one
    folder = tmp_path_factory.mktemp("cache")
    for name in ("OTADTK_CACHE", "OTADTK_WEIGHTS_CACHE"):
        monkeypatch.setenv(name, str(folder))
    (folder / "weights").mkdir()
    (folder / "weights" / converted_yamnet.name).symlink_to(converted_yamnet)
    return folder


@pytest.fixture(scope="session")
def published_cache() -> Path:
    """The eighteen published adapters, fetched once into the user's own cache, as YAMNet is."""
    try:
        return fetch_published()
    except WeightsError as error:
        pytest.skip(f"the published adapters are out of reach: {error}")


@pytest.fixture
def published(cache: Path, published_cache: Path) -> Path:
    """The same in the cache of the test."""
    target = cache / "weights" / published_cache.name
    target.symlink_to(published_cache)
    return target


@pytest.fixture
def write_clips() -> Callable[..., list[Path]]:
    """Writes synthesised clips into a folder, one kind after the other."""

    def write(folder: Path, count: int, first_seed: int = 0, seconds: float = 1.2) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        kinds = list(KINDS)
        files = []
        for number in range(count):
            clip = synthesise(kinds[number % len(kinds)], first_seed + number, seconds, RATE)
            files.append(folder / f"{number:03d}.wav")
            soundfile.write(files[-1], clip, RATE, subtype="PCM_16")
        return files

    return write


@pytest.fixture
def folders(tmp_path: Path, write_clips: Callable[..., list[Path]]) -> tuple[Path, Path]:
    """A reference and an evaluated folder of eight clips each."""
    write_clips(tmp_path / "ref", 8)
    write_clips(tmp_path / "eval", 8, first_seed=100)
    return tmp_path / "ref", tmp_path / "eval"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, one a process; without it tests are skipped, or fail if OTADTK_REQUIRE_BROWSER is set."""
    found = os.environ.get("OTADTK_BROWSER") or shutil.which("chromium")
    found = found or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = (
            f"no Chromium found; install one, or name it in OTADTK_BROWSER ({INSIST}=1 insists)"
        )
        if os.environ.get(INSIST):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=found,
            args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
        )
        yield launched
        launched.close()
