"""The methods paragraph and its references, from documents of runs."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from otadtk import __version__
from otadtk.cli.methods import main as methods_main
from otadtk.cli.score import main as score_main
from tests.documents.test_document import Folders, run, valid


def test_methods(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    target = tmp_path / "run.json"
    options = ("--metrics", "otad,kad", "--null", 9, "--ci", "--json", target)
    run(score_main, "yamnet", *folders, *options)
    document = valid(target.read_text())
    capsys.readouterr()
    assert run(methods_main, target) == 0
    out = capsys.readouterr().out
    otad, kad = document["results"]
    for words in (
        "8 evaluated clips with 8 reference clips",
        "ε = 0.1",
        "mean of 9 permutations",
        f"{otad['score']:.4g}",
        f"{kad['bandwidth']['sigma']:.4g}",
        f"otadtk {__version__}",
        *(weight["digest"].partition(":")[2][:12] for weight in otad["model"]["weights"]),
        "@article{jeong2026otad,",
        "@article{chung2025kad,",
        "@misc{plakal2019yamnet,",
    ):
        assert words in out, words
    assert "kilgour" not in out
    assert "was not computed" not in out
    monkeypatch.setattr("sys.stdin", io.StringIO(target.read_text()))
    assert run(methods_main, "-") == 0
    assert capsys.readouterr().out == out
    assert run(methods_main, target, "--latex") == 0
    paragraph, _, entries = capsys.readouterr().out.partition("\n\n")
    assert entries == out.partition("\n\n")[2]
    assert paragraph.isascii()
    assert r"$\varepsilon$ = 0.1" in paragraph
    assert not re.search(r"(?<!\\)[%&#_]", paragraph), "nothing is a comment or an error"
    cited = re.findall(r"\\cite\{([^}]*)\}", paragraph)
    interval = "efron1981jackknife"
    yamnet = ["plakal2019yamnet"] * 2  # OTAD takes features beside the embedding that KAD takes
    assert cited == ["jeong2026otad", interval, "chung2025kad", interval, *yamnet]
    assert all(f"{{{key}," in entries for key in cited)


def test_methods_say_that_there_is_no_floor(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.json"
    run(score_main, "logmel", *folders, "--fad", "--json", target)
    capsys.readouterr()
    assert run(methods_main, target) == 0
    assert "one distribution score at these sizes was not computed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("[1]", "its schema is None"),
        ('{"schema": "otadtk-document/9"}', "its schema is 'otadtk-document/9'"),
        ('{"schema": "otadtk-document/1"}', "not a whole document"),
        ('{"schema": "otadtk-document/1", "kind": "score", "provenance": 3}', "not a whole"),
        (None, "There is no file"),
    ],
)
def test_methods_of_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, words: str
) -> None:
    path = tmp_path / "x.json"
    if text is not None:
        path.write_text(text)
    assert run(methods_main, path) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
