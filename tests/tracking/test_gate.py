"""The gate: exit 0 for a set that is not worse than the baseline, 6 for one that is beyond noise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from otadtk import OTAD
from otadtk.cli.gate import main as gate_main
from otadtk.cli.score import main as score_main
from otadtk.documents.reading import read_document
from otadtk.errors import UsageError
from otadtk.evaluation.compare import compare
from otadtk.tracking.gate import decide
from otadtk.tracking.record import Record
from otadtk.tracking.summary import markdown

EPSILON = ("--epsilon", "3")


def run(main: Any, *arguments: object) -> int:
    return int(main([str(argument) for argument in arguments]))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference, a baseline and its document, another draw, and one with 10 % spoilt clips."""
    folder = tmp_path_factory.mktemp("gate")
    rng = np.random.default_rng(4)
    names = np.array([f"{k}.wav" for k in range(120)])
    for name, count in {"ref": 120, "base": 80, "same": 80, "spoilt": 80}.items():
        vectors = rng.normal(size=(count, 4)).astype(np.float32)
        vectors[:8] += 8.0 if name == "spoilt" else 0.0
        np.savez(folder / f"{name}.npz", embeddings=vectors, names=names[:count])
    np.save(folder / "far.npy", 4.0 + vectors)
    sets = [folder / "ref.npz", folder / "base.npz"]
    options = ("--ci", "--json", folder / "run.json", "-q")
    assert run(score_main, "given", *sets, *EPSILON, *options) == 0
    return folder


@pytest.fixture
def sets(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def gate(evaluated: str, *options: object, reference: str = "ref.npz") -> int:
    arguments = ["--baseline", "run.json", "given", reference, evaluated, *EPSILON, *options]
    return run(gate_main, *arguments)


def record(name: str) -> Record:
    return Record.of(read_document(name), "OTAD", name)


def test_a_set_that_is_not_worse(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("same.npz", "--markdown", "s.md", "--junit", "j.xml", "--json", "new.json") == 0
    assert capsys.readouterr().out.startswith("not worse beyond noise: OTAD ")
    assert "## otadtk: ✅ not worse" in Path("s.md").read_text()
    assert ElementTree.parse("j.xml").getroot().attrib["failures"] == "0"
    # from the two documents follows what both sets together give
    metric = OTAD("given", epsilon=3.0)
    reference, base, same = (metric.embed(f"{name}.npz") for name in ("ref", "base", "same"))
    for paired in (False, True):
        found = decide(record("run.json"), record("new.json"), paired=paired)
        together = compare(metric, reference, {"base": base, "same": same}, paired=paired)
        expected = together.differences["same", "base"]
        for name in ("value", "deviation", "probability"):
            mine, theirs = getattr(found.difference, name), getattr(expected, name)
            assert mine == pytest.approx(theirs, rel=1e-3, abs=1e-4)
        assert found.difference.low < expected.low < expected.high < found.difference.high
    back = decide(record("new.json"), record("run.json"))  # what the gate writes is a baseline
    forth = decide(record("run.json"), record("new.json"))
    assert back.difference.value == -forth.difference.value


def test_a_set_that_is_worse(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("w.md").write_text("before\n")
    outputs = ("--markdown", "w.md", "--junit", "w.xml", "--json", "worse.json")
    # clips as the baseline, not their document
    assert gate("spoilt.npz", *outputs, "--baseline", "base.npz") == 6
    out = capsys.readouterr().out
    assert out.startswith("worse: OTAD ")
    assert "8 clips are bad that were not" in out
    assert Path("w.md").read_text().startswith("before\n## otadtk: ❌ worse than the baseline")
    failure = ElementTree.parse("w.xml").getroot().find("testsuite/testcase/failure")
    assert failure is not None and failure.attrib["message"].startswith("worse: OTAD ")
    base, worse = record("run.json"), record("worse.json")
    found = decide(base, worse)
    assert found.sentence() == out.splitlines()[0]  # as with the document
    assert {name for name, _ in found.newly_bad()} == {f"{k}.wav" for k in range(8)}
    allowed = decide(base, worse, max_rise=1000)
    assert not allowed.worse
    assert allowed.sentence().startswith("not worse than allowed (1000): OTAD")
    assert allowed.detectable > 1000
    assert decide(base, worse, max_rise=0.1).worse
    assert decide(worse, base).sentence().startswith("better: ")


def test_clips_may_be_farther_though_the_score_is_not(sets: Path) -> None:
    base = record("run.json")
    far = base.distances
    assert far is not None
    moved = dict(base.by_clip)
    for name in list(moved)[:8]:
        moved[name] = replace(moved[name], distance=float(far.max()) + 1.0)
    found = decide(base, replace(base, by_clip=moved))
    assert found.worse and not found.rise.score_rose
    assert (
        "; more clips are far from the reference than chance allows (p = 0.006 ≤"
        in found.sentence()
    )
    assert "or more clips far from the reference" in markdown(found)
    assert not decide(base, replace(base, by_clip=moved), max_rise=0.5).worse
    unchanged = decide(base, base)
    assert not unchanged.worse
    assert "97.5 % interval of the rise" in unchanged.sentence()
    # documents of earlier versions have no distances: then the score alone decides, as it did
    earlier = {name: replace(clip, distance=None) for name, clip in base.by_clip.items()}
    by_score = decide(replace(base, by_clip=earlier), replace(base, by_clip=moved))
    assert by_score.rise.clips_p is None and not by_score.worse
    assert "(95 % interval of the rise" in by_score.sentence()


def test_higher_may_be_better(sets: Path) -> None:
    prdc = ("--metrics", "prdc")
    run(score_main, "given", "ref.npz", "base.npz", *prdc, "--ci", "--json", "prdc.json", "-q")
    for evaluated, code in (("same.npz", 0), ("far.npy", 6)):
        arguments = ["--baseline", "prdc.json", "given", "ref.npz", evaluated, *prdc, "-q"]
        assert run(gate_main, *arguments, "--json", "new.json") == code
        new = json.loads(Path("new.json").read_text())["results"][0]
        assert new["higher_is_better"]


def test_bad_input(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without_interval = json.loads(Path("run.json").read_text())
    without_interval["results"][0]["statistics"]["interval"] = None
    Path("no_ci.json").write_text(json.dumps(without_interval))
    damaged = json.loads(Path("run.json").read_text())
    del damaged["results"][0]["statistics"]["interval"]["without"]
    Path("damaged.json").write_text(json.dumps(damaged))
    Path("text.json").write_text("hello")
    cases: list[tuple[tuple[object, ...], str, int]] = [
        (("same.npz", "--baseline", "none.json"), "There is no file none.json", 2),
        (("same.npz", "--baseline", "text.json"), "text.json is not JSON", 2),
        (("same.npz", "--baseline", "no_ci.json"), "lacks the interval", 2),
        (("same.npz", "--baseline", "damaged.json"), "damaged.json is damaged", 2),
        (("same.npz", "--baseline", "none.npz"), "none.npz", 3),
        (("same.npz", "--epsilon", 2), "epsilon: 3.0 there, 2.0 here", 2),
        (("same.npz", "--metrics", "otad,fad"), "one metric, not otad, fad", 2),
        (("same.npz", "--fad"), "--epsilon belongs to OTAD", 2),
        (("same.npz", "--seed", 3), "drawn with --seed 0", 2),
        (("same.npz", "--junit", "run.json"), "would overwrite run.json", 2),
        (("none.npz",), "none.npz", 3),
    ]
    for arguments, message, code in cases:
        assert gate(*arguments, "-q", "--markdown", "out.md") == code, arguments
        err = capsys.readouterr().err
        assert message in err, err
        assert len([line for line in err.splitlines() if ": error: " in line]) == 1
        assert not Path("out.md").exists()
    assert gate("same.npz", reference="same.npz") == 2
    assert "the reference has other clips" in capsys.readouterr().err
    base = record("run.json")
    with pytest.raises(UsageError, match="has 60 clips and this set 80"):
        decide(replace(base, clips=60), base)
    with pytest.raises(UsageError, match="needs the same clips"):
        decide(replace(base, by_clip={}), base, paired=True)
    # pairs of manifests count before names
    renamed = {f"x{name}": replace(clip, pair=name) for name, clip in base.by_clip.items()}
    named = replace(base, by_clip={k: replace(c, pair=k) for k, c in base.by_clip.items()})
    assert decide(named, replace(base, by_clip=renamed), paired=True).difference.deviation == 0.0
    with pytest.raises(SystemExit) as refused:
        gate("same.npz", "--max-rise", 1, "--significant")
    assert refused.value.code == 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("results", 0, "score"), "many"),
        (("results", 0, "score"), 1e300),
        (("results", 0, "statistics", "interval", "without", "both", 1), None),
        (("results", 0, "statistics", "interval", "without", "reference", "pairs"), [1.0]),
        (("results", 0, "statistics", "interval", "seed"), 0.5),
        (("results", 0, "settings", "divergence"), "a\nb"),
        (("results", 0, "clips", 0, "cost"), True),
        (("sets", "evaluated", "clips"), "80"),
    ],
)
def test_a_document_that_somebody_has_changed(
    sets: Path, capsys: pytest.CaptureFixture[str], path: tuple[Any, ...], value: object
) -> None:
    document = json.loads(Path("run.json").read_text("utf-8"))
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    Path("changed.json").write_text(json.dumps(document), "utf-8")
    arguments = ["--baseline", "changed.json", "given", "ref.npz", "same.npz", *EPSILON, "-q"]
    assert run(gate_main, *arguments, "--json", "no.json") == 2
    said = capsys.readouterr().err.splitlines()
    assert len([line for line in said if line.startswith("otadtk-gate: error: ")]) == 1
    assert all(line.startswith("otadtk-gate: ") for line in said)
    assert not Path("no.json").exists()
