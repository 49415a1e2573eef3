"""``otadtk-completion``: the scripts complete what the parsers know, in shells that are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from otadtk import list_models
from otadtk.cli.completion import commands, main

TRIED = {
    "otadtk yamne": "yamnet",
    "otadtk yamnet ref gen --varia": "--variant",
    "otadtk yamnet ref gen --variant art": "artifact",
    "otadtk-adapters remo": "remove",
    "otadtk-embeds -m vggi": "vggish",
    "otadtk --metrics vend": "vendi",
}


def test_knows_every_script_and_model() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    known = {command.name: command for command in commands()}
    assert set(known) == set(re.findall(r'^(otadtk[\w-]*) = "otadtk_audio:', project, re.M))
    assert set(known["otadtk"].first) == set(list_models())


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([shell]) == 0
    return capsys.readouterr().out


def test_bash(capsys: pytest.CaptureFixture[str]) -> None:
    ask = """
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _otadtk; echo "${COMPREPLY[@]}"; }
"""
    lines = "".join(f"ask {line}\n" for line in [*TRIED, "otadtk yamnet re"])
    run = subprocess.run(
        ["bash"], input=script("bash", capsys) + ask + lines, capture_output=True, text=True
    )
    assert (run.stdout.splitlines(), run.stderr) == ([*TRIED.values(), ""], "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"complete -C '{line}'\n" for line in TRIED)
    run = subprocess.run(
        ["fish"], input=script("fish", capsys) + lines, capture_output=True, text=True
    )
    assert run.stderr == ""
    offered = {line.split("\t")[0] for line in run.stdout.splitlines()}
    assert offered >= set(TRIED.values())


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh(capsys: pytest.CaptureFixture[str]) -> None:
    setup = "autoload -U compinit && compinit -u -D\n"
    lines = setup + script("zsh", capsys) + "print ${_comps[otadtk]}\n"
    run = subprocess.run(["zsh", "-f"], input=lines, capture_output=True, text=True)
    assert "-F _otadtk" in run.stdout, run.stderr


def test_needs_no_torch() -> None:
    code = (
        "import sys; from otadtk.cli.completion import main; main(['fish']); "
        "assert not {'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["tcsh"])
    assert caught.value.code == 2 and "invalid choice: 'tcsh'" in capsys.readouterr().err
