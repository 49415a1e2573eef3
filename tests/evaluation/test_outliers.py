"""A few clips so far away that no interval of the score holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from otadtk import FAD, OTAD, evaluate
from otadtk import compare as ranked
from otadtk.cli.compare import main as compare
from otadtk.cli.gate import main as gate
from otadtk.cli.methods import main as methods
from otadtk.cli.score import main as score
from otadtk.cli.trend import main as trend
from otadtk.documents.schema import document_schema as schema
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.evaluation.outliers import find_outliers
from otadtk.loggers.content import content_of

ENDS = ("low", "high", "deviation")
NO_NUMBER = re.compile(r"\b(nan|inf)\b")


def given(vectors: np.ndarray, name: str) -> EmbeddingSet:
    files = tuple(Path(f"{name}{k}") for k in range(len(vectors)))
    none = (None,) * len(files)
    return EmbeddingSet(vectors.astype(np.float32), files, none, ("",) * len(files), (), 0)


@pytest.mark.parametrize("far", [[], [4], [4, 11], [4, 11, 17, 18, 19]])
def test_a_few_far_clips_are_named_farthest_first(rng: np.random.Generator, far: list[int]) -> None:
    x, y = rng.normal(size=(2, 20, 6))
    for distance, k in enumerate(far, 100):
        y[k] += distance
    found = find_outliers(FAD("given"), given(x, "x"), given(y, "y"))
    if far and len(far) <= 2:
        assert found is not None
        assert found.clips == tuple(Path(f"y{k}") for k in reversed(far))
        assert found.share > 0.95
    else:
        assert found is None, "none is far, or they are many and part of what is there"


def test_heavy_tails_are_no_outliers(rng: np.random.Generator) -> None:
    sets = [given(rng.standard_t(3, size=(100, 6)), name) for name in "xy"]
    assert find_outliers(FAD("given"), sets[0], sets[1]) is None
    same = given(np.ones((30, 6)), "z")
    assert find_outliers(FAD("given"), same, same) is None


def test_commands_name_the_clip_and_print_no_interval(
    rng: np.random.Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    x, y = rng.normal(size=(2, 50, 8))
    np.save("ref.npy", x)
    np.save("near.npy", y)
    y[7] += 2e4
    np.save("far.npy", y)
    options = ["--metrics", "kad,fad", "--ci", "--excess", "--no-null"]
    assert score(["given", "ref.npy", "far.npy", *options]) == 0
    out, err = capsys.readouterr()
    assert out.count("95 % interval: none, because a few far clips decide the score") == 2
    assert out.count("95 % interval none, because") == 2, "of the excess"
    assert "far.npy/7 makes up 99.9 %" in err
    assert score(["given", "ref.npy", "near.npy", "--fad", "--ci", "--no-null"]) == 0
    out, err = capsys.readouterr()
    assert "95 % interval: none" not in out
    assert "makes up" not in err
    assert compare(["given", "ref.npy", "near.npy", "far.npy", "--fad", "--no-null"]) == 0
    out, err = capsys.readouterr()
    assert "no interval of FAD of far.npy holds" in err
    near, far = out.splitlines()[1:3]
    assert near.split()[-2:] == ["none", "none"], "its lead over a system without an interval"
    assert far.split()[-1] == "none"


def test_no_output_has_numbers_of_an_interval_that_does_not_hold(
    rng: np.random.Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    x, y, z = rng.normal(size=(3, 20, 3))
    np.save("ref.npy", x)
    np.save("step1.npy", y)
    y[7] += 2e4
    np.save("step2.npy", y)
    np.save("step3.npy", z)
    options = ["--fad", "--ci", "--no-null", "--json", "s.json"]
    assert score(["given", "ref.npy", "step2.npy", *options]) == 0
    found = json.loads(Path("s.json").read_text("utf-8"))["results"][0]["statistics"]["interval"]
    assert [found[name] for name in ENDS] == [None] * 3
    options = ["--fad", "--no-null", "--excess", "--json", "c.json"]
    assert compare(["given", "ref.npy", "step1.npy", "step2.npy", *options]) == 0
    document = json.loads(Path("c.json").read_text("utf-8"))
    jsonschema.validate(document, schema())
    (result,) = document["results"]
    near, far = result["systems"]
    assert near["interval"]["low"] < near["score"] < near["interval"]["high"]
    for part in (far["interval"], far["excess"], *result["differences"]):
        assert [part[name] for name in ENDS] == [None] * 3
    assert {difference["probability"] for difference in result["differences"]} == {None}
    for path in ("s.json", "c.json"):
        capsys.readouterr()
        assert methods([path]) == 0
        said = capsys.readouterr().out
        assert "a few far clips decide" in said and "not finite" not in said
    steps = ["step1.npy", "step2.npy", "step3.npy"]
    assert trend(["given", "ref.npy", *steps, "--fad", "--out", "t"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[-1] for row in rows[2:4]] == ["unknown", "unknown"]
    assert NO_NUMBER.search(Path("t/trend.html").read_text("utf-8")) is None
    for baseline in ("s.json", "step2.npy"):
        assert gate(["given", "ref.npy", "step1.npy", "--fad", "--baseline", baseline]) == 2
        assert "a few far clips decide the FAD of the baseline" in capsys.readouterr().err


def test_no_view_has_numbers_of_an_interval_that_does_not_hold(rng: np.random.Generator) -> None:
    x, y, z = rng.normal(size=(3, 20, 3))
    z[7] += 100.0
    sets = [given(vectors, name) for vectors, name in ((x, "x"), (y, "y"), (z, "z"))]
    metric = OTAD("given", epsilon=30.0)
    found = ranked(metric, sets[0], {"near": sets[1], "far": sets[2]})
    shown = found._repr_html_()
    single = evaluate(metric, sets[0], sets[2], interval=True)
    for text in (shown, single._repr_html_()):
        assert "none" in text and NO_NUMBER.search(text) is None
    assert not {name for name in content_of(single).numbers if "interval" in name}
