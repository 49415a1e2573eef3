"""The JSON document: valid by its schema, and complete."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from otadtk import OTAD, __version__
from otadtk.cli.score import main as score_main
from otadtk.documents.document import to_text
from otadtk.documents.schema import document_schema
from otadtk.encoders import get_spec

Folders = tuple[Path, Path]


def valid(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    schema = document_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    return document


def run(main: Any, *arguments: object) -> int:
    return int(main([str(argument) for argument in arguments]))


def test_stdout_is_the_document_alone(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--metrics", "otad,fad,kad", "--null", 9, "--ci", "--extrapolate", "--seed", 2]
    assert run(score_main, "logmel", *folders, *arguments, "--json", "-", "--epsilon", 3) == 0
    document = valid(capsys.readouterr().out)
    otad, fad, kad = document["results"]
    diagnostics = OTAD("logmel", epsilon=3.0).diagnose(*folders)
    assert otad["score"] == pytest.approx(diagnostics.score)
    assert [clip["cj"] for clip in otad["clips"]] == pytest.approx(diagnostics.cj.tolist())
    nearest = otad["clips"][2]["nearest"]
    assert nearest[0]["file"] == str(diagnostics.nearest(2)[0].file)
    assert otad["certificate"]["converged"]
    assert otad["certificate"]["epsilon"] == 3.0
    assert otad["model"]["fingerprint"] == get_spec("logmel").fingerprint
    floor = fad["statistics"]["floor"]
    assert floor["difference"] == pytest.approx(fad["score"] - floor["mean"])
    assert floor["seed"] == document["provenance"]["seed"] == 2
    assert kad["bandwidth"]["rule"] == "eval"
    assert document["sets"]["reference"]["clips"] == 8
    assert document["audit"]["reference"]["clips"] == 8
    made = document["provenance"]
    assert made["otadtk"] == __version__
    assert made["command"].startswith("otadtk logmel ")


@pytest.mark.parametrize("coupling", ["exact", "minibatch", "sliced"])
def test_every_coupling(
    folders: Folders, capsys: pytest.CaptureFixture[str], coupling: str
) -> None:
    assert run(score_main, "logmel", *folders, "--coupling", coupling, "--json", "-") == 0
    (result,) = valid(capsys.readouterr().out)["results"]
    assert (result["clips"][0]["nearest"] is not None) == (coupling == "exact")


def test_names_and_numbers_that_json_has_not(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is not UTF-8, and copies of reference clips, so that the median cost is 0."""
    reference, evaluated = folders
    for file in evaluated.iterdir():
        file.unlink()
    for file in list(reference.iterdir())[:5]:
        shutil.copy(file, evaluated / file.name)
    odd = os.fsencode(evaluated) + b'/caf\xe9 "1",\n.wav'
    shutil.copy(next(reference.iterdir()), odd)
    assert (
        run(score_main, "logmel", reference, evaluated, "--coupling", "exact", "--json", "-") == 0
    )
    text = capsys.readouterr().out
    clips = valid(text)["results"][0]["clips"]
    assert text.isascii()
    assert any(clip["file"].endswith('caf\\xe9 "1",\n.wav') for clip in clips)
    assert (
        to_text({"x": float("inf"), "y": [float("nan")]})
        == '{\n "x": null,\n "y": [\n  null\n ]\n}\n'
    )


def test_file_is_whole_and_its_place_is_checked_first(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "run.json"
    assert run(score_main, "logmel", *folders, "--fad", "--json", target) == 0
    valid(target.read_text())
    assert capsys.readouterr().out.startswith("FAD: ")
    assert run(score_main, "logmel", *folders, "--fad", "--json", tmp_path) == 2
    assert "is a folder" in capsys.readouterr().err
    assert run(score_main, "logmel", *folders, "--json", "-", "--diagnose") == 2
    assert "the costs are in the JSON" in capsys.readouterr().err


def test_audit_alone(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(score_main, "logmel", *folders, "--audit-only", "--json", "-") == 0
    document = valid(capsys.readouterr().out)
    assert document["kind"] == "audit"
    assert document["audit"]["evaluated"]["clips"] == 8
