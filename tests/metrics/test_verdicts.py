"""Verdicts of OTAD on single clips: what is found, by every coupling, and where it is written."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from otadtk import OTAD, RiemannianAdapter, evaluate
from otadtk.cli.score import main
from otadtk.documents.schema import document_schema
from otadtk.errors import UsageError
from otadtk.metrics.verdicts import squares_between
from otadtk.statistics.judging import judge_clips


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """200 reference and 60 evaluated clips, of which the first 8 are far away."""
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    points = rng.normal(size=(260, 6)).astype(np.float32)
    points[200:208] *= 4.0
    np.save(folder / "ref.npy", points[:200])
    np.save(folder / "eval.npy", points[200:])
    return folder / "ref.npy", folder / "eval.npy"


@pytest.mark.parametrize("coupling", ["sinkhorn", "exact", "minibatch", "sliced"])
def test_bad_clips_are_found_by_every_coupling(sets, coupling):
    diagnostics = OTAD("given", coupling=coupling, epsilon=1.0).diagnose(*sets)
    found = diagnostics.verdicts(fdr=0.2)
    assert found.bad[:8].mean() >= 0.7
    assert found.bad[8:].sum() <= 4
    assert diagnostics.verdicts(fdr=0.001).bad.sum() == 0


def test_costs_do_not_depend_on_the_number_of_clips(sets):
    diagnostics = OTAD("given", epsilon=1.0).diagnose(*sets)
    assert np.allclose(diagnostics.cost, 60 * diagnostics.cj)


def test_the_judgement_is_kept_and_written_to_the_csv(sets, tmp_path):
    diagnostics = OTAD("given", epsilon=1.0).diagnose(*sets)
    with diagnostics.to_csv(tmp_path / "plain.csv").open() as file:
        assert {(row["p"], row["q"], row["verdict"]) for row in csv.DictReader(file)} == {("",) * 3}
    judged = diagnostics.judged(0.2)
    with judged.to_csv(tmp_path / "judged.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = judged.verdicts(fdr=0.2)
    assert [row["verdict"] == "bad" for row in rows] == found.bad.tolist()
    assert np.allclose([float(row["p"]) for row in rows], found.p)
    assert np.allclose([float(row["q"]) for row in rows], found.q)


def test_dropped_modes_of_the_reference_are_found():
    rng = np.random.default_rng(1)
    reference = rng.normal(size=(80, 4)).astype(np.float32)
    reference[:6] += 6.0  # nothing evaluated is there
    evaluated = rng.normal(size=(150, 4)).astype(np.float32)
    metric = OTAD("given", epsilon=1.0)
    judgement = _diagnose(metric, reference, evaluated).judged(0.2).judgement
    assert judgement is not None and judgement.reference is not None
    assert judgement.reference.bad[:6].all() and judgement.reference.bad[6:].sum() <= 4


def test_one_reference_clip_gives_no_verdict():
    rng = np.random.default_rng(1)
    one, many = rng.normal(size=(1, 4)), rng.normal(size=(30, 4))
    diagnostics = _diagnose(OTAD("given"), one.astype(np.float32), many.astype(np.float32))
    with pytest.raises(UsageError, match="at least 2 reference clips, not 1"):
        diagnostics.verdicts()
    with pytest.raises(UsageError, match="only costs"):
        replace(diagnostics, evidence=None).verdicts()


def test_evaluate_says_what_was_found(sets):
    result = evaluate(OTAD("given", epsilon=1.0), *sets, fdr=0.2)
    assert any("of 60 clips are worse than chance allows" in line for line in result.details())
    assert any(line.startswith("some clips are spoilt: p = 0.0") for line in result.details())


def test_the_command_prints_marks_and_writes_verdicts(sets, tmp_path, capsys):
    document, table = tmp_path / "run.json", tmp_path / "clips.csv"
    where = ["--json", str(document), "--diag-out", str(table)]
    arguments = ["given", *map(str, sets), "--epsilon", "1", "--fdr", "0.2", "--diagnose"]
    assert main([*arguments, "--only-bad", "--top-k", "60", *where]) == 0
    out = capsys.readouterr().out
    written = json.loads(document.read_text())
    import jsonschema

    jsonschema.validate(written, document_schema())
    result = written["results"][0]
    bad = [clip for clip in result["clips"] if clip["verdict"] == "bad"]
    assert result["verdicts"]["evaluated"]["bad"] == len(bad) >= 5
    assert f"{len(bad)} of 60 clips are worse than chance allows (at most 20 %" in out
    assert out.count("[bad]") == len(bad)
    assert all(clip["cost"] == pytest.approx(60 * clip["cj"]) for clip in result["clips"])
    assert {clip["verdict"] for clip in result["reference_clips"]} <= {"bad", "ok"}


def test_groups_judge_each_clip_by_its_own_kind(tmp_path):
    rng = np.random.default_rng(2)
    wide, narrow = (scale * rng.normal(size=(220, 3)) for scale in (8.0, 0.3))
    narrow[219] = 3.0  # far from its group, well within the other
    for name, rows in (("ref", slice(0, 200)), ("eval", slice(200, 220))):
        vectors = np.concatenate([wide[rows], narrow[rows]]).astype(np.float32)
        names = [f"{kind}{k}" for kind in ("wide", "narrow") for k in range(len(vectors) // 2)]
        np.savez(tmp_path / f"{name}.npz", embeddings=vectors, names=np.array(names))
    table = tmp_path / "groups.csv"
    lines = [f"{kind}{k},{kind}" for kind in ("wide", "narrow") for k in range(200)]
    table.write_text("file,kind\n" + "\n".join(lines) + "\n")
    document = tmp_path / "run.json"
    places = [str(tmp_path / "ref.npz"), str(tmp_path / "eval.npz")]
    arguments = ["given", *places, "--fdr", "0.25", "--json", str(document)]
    assert main(arguments) == 0
    plain = json.loads(document.read_text())["results"][0]
    assert main([*arguments, "--groups", str(table)]) == 0
    own = json.loads(document.read_text())["results"][0]
    assert plain["verdicts"]["evaluated"]["own_groups"] == []
    assert own["verdicts"]["evaluated"]["own_groups"] == ["narrow", "wide"]
    assert plain["clips"][39]["verdict"] == "ok" and own["clips"][39]["verdict"] == "bad"


@pytest.mark.parametrize("rate", ["0", "1", "-0.1", "ten"])
def test_a_senseless_rate_is_refused(sets, rate, capsys):
    with pytest.raises(SystemExit):
        main(["given", *map(str, sets), f"--fdr={rate}"])
    assert "is not a number between 0 and 1" in capsys.readouterr().err


def _diagnose(metric, reference, evaluated):
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    np.save(folder / "ref.npy", reference)
    np.save(folder / "eval.npy", evaluated)
    return metric.diagnose(folder / "ref.npy", folder / "eval.npy")


@pytest.mark.parametrize(("count", "own_space"), [(99, False), (100, True)])
def test_crowds_are_judged_in_the_space_for_clips(count, own_space, tmp_path, rng):
    class TwoSpaces(RiemannianAdapter):
        def for_clips(self):
            other = RiemannianAdapter(4)
            other.register_forward_hook(lambda _, __, z: z * torch.tensor([9.0, 1.0, 1.0, 1.0]))
            return other

    x, y = (rng.normal(size=(n, 4)).astype(np.float32) for n in (150, count))
    for name, points in (("x", x), ("y", y)):
        np.save(tmp_path / f"{name}.npy", points)
    metric = OTAD("given", adapter=TwoSpaces(4), epsilon=1.0)
    found = metric.diagnose(tmp_path / "x.npy", tmp_path / "y.npy").verdicts()
    pool = np.concatenate([x, y]).astype(np.float64)
    if own_space:
        pool[:, 0] *= 9.0
    expected = judge_clips(squares_between(pool), len(x), count)
    np.testing.assert_allclose(found.p, expected.p)
