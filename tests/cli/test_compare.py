"""``otadtk-compare``: table, document, methods, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
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


def test_fails_if_a_system_is_worse_than_the_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    for name in ("ref", "base", "same", "spoilt"):
        vectors = rng.normal(size=(80, 4)).astype(np.float32)
        vectors[:8] += 8.0 if name == "spoilt" else 0.0
        np.save(f"{name}.npy", vectors)
    np.save("few.npy", vectors[:40])
    command = ["given", "ref.npy", "base.npy", "same.npy", "--epsilon", "3", "--no-null"]
    against = ["--baseline", "base.npy", "--fail-if-worse"]
    assert run(compare_main, *command, *against) == 0
    assert "same.npy against base.npy: not worse beyond noise: OTAD" in capsys.readouterr().out
    command.insert(4, "spoilt.npy")
    assert run(compare_main, *command, *against) == 6
    out = capsys.readouterr().out
    assert "spoilt.npy against base.npy: worse: OTAD" in out
    assert "98.75 % interval" in out  # of two systems and two tests, which share 2.5 %
    assert "same.npy against base.npy: not worse" in out
    assert run(compare_main, *command, *against[:2], "--json", "-") == 0
    assert "against" not in capsys.readouterr().out
    for options, words in {
        ("--fail-if-worse",): "--fail-if-worse needs --baseline",
        ("--baseline", "other"): "--baseline other is none of the systems: base.npy, same.npy",
        ("--baseline", "base.npy", "--metrics", "otad,fad"): "one metric, not otad, fad",
        ("--baseline", "few.npy"): "The baseline has 40 clips and this set 80",
    }.items():
        several = ["few.npy"] if "few.npy" in options else []
        assert run(compare_main, *command[:2], *several, *command[2:], *options) == 2
        captured = capsys.readouterr()
        assert words in captured.err and captured.out == ""


def test_floors_excess_and_notes_of_all_systems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    sets = {"ref": 0.0, "same": 0.0, "moved": 3.0, "far": 3.0}
    for name, shift in sets.items():
        clips = 24 if name != "far" else 20
        np.save(tmp_path / f"{name}.npy", shift + rng.normal(size=(clips, 3)))
    paths = [tmp_path / f"{name}.npy" for name in sets]
    target, page = tmp_path / "run.json", tmp_path / "page.html"
    options = ["--epsilon", "0.001", "--excess", "--json", target, "--report", page]
    assert run(compare_main, "given", *paths, *options) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split("  ")[0] == "model"
    assert " floor " in out and " excess " in out
    # what holds for several systems is said once, with their names
    assert err.count("debiasing does nothing") == 1
    assert f"{paths[1]}, {paths[2]}, {paths[3]}: epsilon" in err or (
        f"{paths[2]}, {paths[3]}" in err
    )
    assert f"cannot tell {paths[1]} (p = " in err and f"cannot tell {paths[2]}" not in err
    result = valid(target.read_text())["results"][0]
    found = {Path(system["name"]).stem: system for system in result["systems"]}
    assert found["moved"]["floor"]["p_value"] <= 0.05 < found["same"]["floor"]["p_value"]
    assert found["same"]["excess"]["low"] < 0 < found["moved"]["excess"]["low"]
    assert found["moved"]["floor"]["design"] == "free"
    assert '<th scope="col" class="n">Floor</th>' in page.read_text()
    assert run(methods_main, target) == 0
    out = capsys.readouterr().out
    assert "Two samples of one distribution score, by permutation:" in out
    assert "The excess over samples of one distribution" in out
    assert run(compare_main, "given", *paths[:3], "--no-null", "--json", target) == 0
    assert " floor " not in capsys.readouterr().out
    assert valid(target.read_text())["results"][0]["systems"][0]["floor"] is None
    assert run(compare_main, "given", *paths[:3], "--no-null", "--null") == 2
    assert "remove one of them" in capsys.readouterr().err


def test_twins_and_groups_of_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    clean = rng.normal(size=(20, 4))
    names = np.array([f"{kind}{k}" for kind in ("cat", "dog") for k in range(10)])
    for name, noise in (("ref", 0.0), ("a", 0.02), ("b", 0.05)):
        vectors = clean + noise * rng.normal(size=clean.shape)
        np.savez(tmp_path / f"{name}.npz", embeddings=vectors, names=names)
    paths = [tmp_path / f"{name}.npz" for name in ("ref", "a", "b")]
    target = tmp_path / "run.json"

    def designs(*options: object) -> set[str]:
        assert run(compare_main, "given", *paths, "--json", target, *options) == 0
        systems = valid(target.read_text())["results"][0]["systems"]
        return {system["floor"]["design"] for system in systems}

    assert designs() == {"pairs"}
    err = capsys.readouterr().err
    assert f"{paths[1]}, {paths[2]}: 20 evaluated clips have a twin" in err
    assert run(compare_main, "given", *paths, "--excess") == 2
    assert f"most clips of {paths[1]}, {paths[2]} have a twin" in capsys.readouterr().err
    table = tmp_path / "groups.csv"
    table.write_text("file,kind\n" + "".join(f"{name},{name[:3]}\n" for name in names))
    assert designs("--groups", table, "--null", 20) == {"strata"}
