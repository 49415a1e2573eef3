"""The blocks of the pages that are not followed as a whole: Python runs, commands are understood.

``tests/test_pages.py`` follows those of Start and How-to. ``logmel`` stands for ``yamnet``, so that no
weights are needed, and training is cut short. What a block takes for granted is in ``given``.
"""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.training.config import TrainingConfig
from tests.test_pages import FOLLOWED

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RATE = 16_000
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    if page not in FOLLOWED
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    )
]


def given() -> dict[str, Any]:
    """What the blocks take for granted."""
    clips = np.stack([synthesise("bell", seed, 1.0, RATE) for seed in range(6)])
    return {
        "known_bad": [True, False] * 3,
        "real_waveforms": torch.from_numpy(clips[:3]),
        "generated_waveforms": torch.from_numpy(clips[3:]),
        "waveform": clips[0],
        "rate": RATE,
        "rng": np.random.default_rng(0),
    }


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders that the blocks name, in the working directory."""
    places = {"real": 6, "generated": 6}
    for first, (folder, count) in enumerate(places.items()):
        (tmp_path / folder).mkdir()
        for number in range(count):
            clip = synthesise("engine", 50 * first + number, 1.0, RATE)
            soundfile.write(tmp_path / folder / f"{number}.wav", clip, RATE)
    for kind in list(KINDS)[:6]:
        (tmp_path / "sounds" / kind).mkdir(parents=True)
        for number in range(6):
            clip = synthesise(kind, number, 1.0, RATE)
            soundfile.write(tmp_path / "sounds" / kind / f"{number}.wav", clip, RATE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quick(variant: str) -> TrainingConfig:
    return TrainingConfig(variant=variant, epochs=1, steps=2, batch=8)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("block", BLOCKS)
def test_the_block_runs(block: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingConfig, "for_variant", quick)
    exec(compile(block.replace('"yamnet"', '"logmel"'), "block", "exec"), given())


COMMANDS = [
    pytest.param(line.partition(" #")[0].strip(), id=f"{page.relative_to(ROOT)}-{line[:40]}")
    for page in PAGES
    if page not in FOLLOWED
    for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("otadtk") and "…" not in line
]


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 10


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_is_understood(line: str) -> None:
    program, *arguments = shlex.split(line)
    name = "score" if program == "otadtk" else program.removeprefix("otadtk-").replace("-", "_")
    options = {"protocol": True} if name == "score" and "--protocol" in arguments else {}
    importlib.import_module(f"otadtk.cli.{name}")._parser(**options).parse_args(arguments)
