"""The JSON document: valid by its schema, whole, and enough for a methods paragraph."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from otadtk import OTAD, __version__, list_models
from otadtk.citations import cite_model, key_of
from otadtk.cli.compare import main as compare_main
from otadtk.cli.methods import main as methods_main
from otadtk.cli.score import main as score_main
from otadtk.document import SCHEMA_FILE, to_text
from otadtk.encoders import get_spec

Folders = tuple[Path, Path]


def valid(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    schema = json.loads(SCHEMA_FILE.read_text())
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
    """A name that is not UTF-8, and twins in the reference, whose median cost is 0."""
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


def test_compare_and_methods(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference, far = folders
    near = tmp_path / "near"
    shutil.copytree(reference, near)
    target = tmp_path / "run.json"
    arguments = ["--metrics", "fad,kad", "--json", target]
    assert run(compare_main, "-m", "logmel", reference, far, near, *arguments, "--bootstrap") == 0
    out, err = capsys.readouterr()
    assert f"{near}: 8 evaluated clips are in the reference too" in err
    assert f"8 evaluated clips of {far}" in err
    rows = [line.split() for line in out.splitlines()]
    assert [row[:4] for row in rows[1:]] == [
        ["logmel", "FAD", "1", str(near)],
        ["logmel", "FAD", "2", str(far)],
        ["logmel", "KAD", "1", str(near)],
        ["logmel", "KAD", "2", str(far)],
    ]
    document = valid(target.read_text())
    assert document["kind"] == "comparison"
    assert len(document["results"][0]["differences"]) == 2
    for difference in document["results"][0]["differences"]:
        assert (difference["method"], difference["replicates"]) == ("bootstrap", 200)
    assert [s["bandwidth"]["rule"] for s in document["results"][1]["systems"]] == ["eval"] * 2
    assert len(document["audits"][str(near)]["leakage"]) == 8
    assert document["audits"][str(far)]["leakage"] == []
    assert run(methods_main, target) == 0
    out = capsys.readouterr().out
    assert f"closest first: {near}" in out
    assert out.count("@inproceedings{kilgour") == out.count("@article{chung") == 1
    assert "centred bootstrap of 200 replicates with common reference clips" in out
    assert "efron" not in out
    for system in (near, far):
        assert f"{system}: KAD bandwidth" in err
    assert run(compare_main, "logmel", reference, far, near, *arguments) == 0
    assert capsys.readouterr().out.count("95 % (jackknife)") == 2
    methods = {d["method"] for d in valid(target.read_text())["results"][0]["differences"]}
    assert methods == {"jackknife"}
    assert run(methods_main, target) == 0
    out = capsys.readouterr().out
    assert "grouped jackknife [efron1981jackknife] with common reference clips" in out
    assert out.count("@article{efron1981jackknife,") == 1
    assert run(compare_main, "logmel", reference, far, near, "--bootstrap", 5) == 2
    assert "at least 20 replicates" in capsys.readouterr().err
    assert run(compare_main, "logmel", reference, far) == 2
    assert "at least two systems" in capsys.readouterr().err
    assert run(compare_main, "logmel", reference, far, far) == 2
    assert "named twice" in capsys.readouterr().err


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
        *("8 evaluated clips with 8 reference clips", "ε = 0.1", "mean of 9 permutations"),
        *(f"{otad['score']:.4g}", f"{kad['bandwidth']['sigma']:.4g}", f"otadtk {__version__}"),
        *(weight["digest"].partition(":")[2][:12] for weight in otad["model"]["weights"]),
        *("@article{jeong2026otad,", "@article{chung2025kad,", "@misc{plakal2019yamnet,"),
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
    assert cited == ["jeong2026otad", interval, "chung2025kad", interval, "plakal2019yamnet"]
    assert all(f"{{{key}," in entries for key in cited)


def test_methods_say_that_there_is_no_floor(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.json"
    run(score_main, "logmel", *folders, "--fad", "--json", target)
    capsys.readouterr()
    assert run(methods_main, target) == 0
    assert "one distribution score at these sizes was not computed" in capsys.readouterr().out


def test_every_encoder_is_cited() -> None:
    for name in list_models():
        model = {"name": name, "paper": get_spec(name).paper}
        entry = cite_model(model)
        assert (entry is None) == (model["paper"] == "none")
        if entry is not None:
            assert "author" in entry, name
            assert entry.count("{") == entry.count("}")
    own = cite_model({"name": "my_net", "paper": "Doe & Roe, 100% Audio, 2030"})
    assert own is not None
    assert key_of(own) == "my-net"
    assert r"Doe \& Roe, 100\% Audio" in own


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
