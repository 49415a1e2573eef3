"""The pages of Start and How-to, followed literally: their blocks run in order, in one folder.

The folder has small sounds under the names that the pages use (``website.practice``). A block whose
first line says ``# needs …`` is only parsed, and installations are left out. ``logmel`` stands for
``yamnet`` where that changes only the time, and training is cut short.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from otadtk.audio.synthesis import synthesise
from otadtk.training.config import TrainingConfig
from website import practice

ROOT = Path(__file__).parent.parent
FOLLOWED = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "start").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
BY_DOCS = {"gallery.md"}
"""`make docs` runs these commands itself, on the demo's sounds."""
ELSEWHERE = ("otadtk-experiments listening",)
"""Takes minutes with its default models; `tests/experiments/listening` runs it with small ones."""
INSTALLS = ("make", "pip", "python", "eval", "export", "ray", "srun", "HEAD=$(hostname")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = {"sh", "python", "text", "console", "yaml", "math"}


def identity(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """The kind and the text of every block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def command_lines(block: str) -> Iterator[str]:
    """The commands of a block, whole and without comments."""
    for line in block.replace("\\\n", " ").splitlines():
        bare = re.split(r"(?:^| )# ", line)[0].strip()
        if bare:
            yield bare


def words(line: str) -> list[str]:
    """The words of a command, as the shell would hand them over: patterns without quotes expanded."""
    found = []
    for word in shlex.split(line, posix=False):
        pattern = re.search(r"[*?]", word) and word[0] not in "'\""
        names = sorted(map(str, Path().glob(word))) if pattern else []
        found += names or [shlex.split(word)[0]]
    return found


def module_of(program: str) -> Any:
    name = "score" if program == "otadtk" else program.removeprefix("otadtk-").replace("-", "_")
    return importlib.import_module(f"otadtk.cli.{name}")


def parse(arguments: list[str]) -> None:
    """Fails if the command does not know its arguments."""
    program, *rest = arguments
    options = {"protocol": True} if program == "otadtk" and "--protocol" in rest else {}
    module_of(program)._parser(**options).parse_args(rest)


def run(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command as the shell would; its output goes where ``>`` says."""
    line, _, target = line.partition(" > ")
    program, *arguments = words(line if "kl,is" in line else line.replace("yamnet", "logmel"))
    code = module_of(program).main(arguments)
    printed = capsys.readouterr()
    assert code == 0, f"{line}\n{printed.out}{printed.err}"
    if target:
        Path(target).write_text(printed.out, encoding="utf-8")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which all pages are followed."""
    folder = tmp_path_factory.mktemp("practice")
    practice.write(folder)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that all pages share, as those of one reader do."""
    return tmp_path_factory.mktemp("store")


def given() -> dict[str, Any]:
    """What blocks of Python take for granted."""
    clips = np.stack([synthesise("bell", seed, 1.0, practice.RATE) for seed in range(6)])
    return {
        "real_waveforms": torch.from_numpy(clips[:3]),
        "generated_waveforms": torch.from_numpy(clips[3:]),
        "rate": practice.RATE,
    }


def quick(variant: str, **_: object) -> TrainingConfig:
    return TrainingConfig(variant=variant, epochs=1, steps=2, batch=8)


@pytest.mark.parametrize("page", FOLLOWED, ids=identity)
def test_the_page_can_be_followed(
    page: Path,
    world: Path,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for source in world.iterdir():
        (tmp_path / source.name).symlink_to(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OTADTK_CACHE", str(store))
    monkeypatch.setattr(TrainingConfig, "for_variant", quick)
    for kind, text in blocks(page):
        assert kind in KINDS, f"a block of kind {kind!r} is never run"
        needs = text.startswith("# needs ")
        if kind == "python" and not needs:
            named = re.search(r"class (My\w+)", text)
            if named:
                Path("my_encoder.py").write_text(text, encoding="utf-8")
            code = text.replace('"yamnet"', '"logmel"')
            exec(compile(code, page.name, "exec"), {} if named else given())
        for line in command_lines(text) if kind == "sh" else ():
            if not line.startswith("otadtk"):
                assert line.startswith(INSTALLS), f"nothing runs {line!r}"
            elif needs or page.name in BY_DOCS or line.startswith(ELSEWHERE):
                parse(words(line.partition(" > ")[0].partition(" | ")[0]))
            else:
                run(line, capsys)


@pytest.mark.parametrize("page", FOLLOWED, ids=identity)
def test_no_command_hides_in_an_indented_block(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    hidden = re.findall(
        r"^(?: {4}|\t)(?:otadtk|make |pip install|python |from |import ).*$", text, re.M
    )
    assert hidden == [], "a block of code has a fence with its kind"


def test_most_commands_are_run() -> None:
    """What a test does not run stands in a block that says what it needs."""
    every = [
        (line, text.startswith("# needs "))
        for page in FOLLOWED
        for kind, text in blocks(page)
        for line in command_lines(text)
        if kind == "sh" and line.startswith("otadtk")
    ]
    assert sum(not needs for _, needs in every) >= 45
    assert sum(needs for _, needs in every) <= 35
