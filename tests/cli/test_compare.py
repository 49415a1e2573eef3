"""``otadtk-compare``: table, document, methods, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from otadtk.cli.compare import main as compare_main
from otadtk.cli.methods import main as methods_main
from tests.documents.test_document import Folders, run, valid


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
    assert f"audit: {near}: 8 in the reference too" in err
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
