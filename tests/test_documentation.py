"""The blocks of the README and of the pages below docs/: Python runs, commands are understood.

``logmel`` stands for ``yamnet``, so that no weights are needed, and training is cut short. What a
block takes for granted, such as a waveform, is in ``given``.
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

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RATE = 16_000
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
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
    assert len(BLOCKS) >= 6


@pytest.mark.parametrize("block", BLOCKS)
def test_the_block_runs(block: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingConfig, "for_variant", quick)
    names = given() if "MyEncoder" not in block else {}
    exec(compile(block.replace('"yamnet"', '"logmel"'), "block", "exec"), names)


COMMANDS = [
    pytest.param(line.partition(" #")[0].strip(), id=f"{page.relative_to(ROOT)}-{line[:40]}")
    for page in PAGES
    for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("otadtk") and "…" not in line
]


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 30


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_is_understood(line: str) -> None:
    program, *arguments = shlex.split(line)
    name = "score" if program == "otadtk" else program.removeprefix("otadtk-").replace("-", "_")
    options = {"protocol": True} if name == "score" and "--protocol" in arguments else {}
    importlib.import_module(f"otadtk.cli.{name}")._parser(**options).parse_args(arguments)


def test_the_custom_encoder_of_the_readme_scores(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from otadtk.cli.score import main

    (block,) = (param.values[0] for param in BLOCKS if "class MyEncoder" in str(param.values[0]))
    (world / "my_encoder.py").write_text(str(block))
    assert main(["my_encoder.py:MyEncoder", "real", "generated", "-q"]) == 0
    assert capsys.readouterr().out.startswith("OTAD: ")
