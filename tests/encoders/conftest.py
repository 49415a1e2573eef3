"""Encoders with seeded weights in the format of their official checkpoints, built once a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from otadtk.encoders import Encoder
from tests.encoders.seeded_checkpoints import build


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """One thread, as in a worker of ``embed``: two that share busy cores wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def seeded_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Encoder]:
    """The encoder of a name, read through the whole path from a published file to a network."""
    built: dict[str, Encoder] = {}

    def get(name: str) -> Encoder:
        if name not in built:
            built[name] = build(name, tmp_path_factory.mktemp(name))
        return built[name]

    return get


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of this test alone."""
    for name in ("OTADTK_CACHE", "OTADTK_WEIGHTS_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    monkeypatch.delenv("OTADTK_WEIGHTS", raising=False)
    return tmp_path / "cache"
