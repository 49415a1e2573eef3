"""Copies of training clips: closed forms, copies that are planted, and what does not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import scipy.stats

from otadtk.cli.score import main
from otadtk.distances.copies import authentic, copying_test, nearest
from otadtk.documents.schema import document_schema
from otadtk.errors import UsageError
from otadtk.metrics.reported.copies import Copies


def test_copying_test_is_mann_whitney(rng: np.random.Generator) -> None:
    held_out, generated = rng.normal(size=40), rng.normal(size=30) - 0.5
    found = copying_test(held_out, generated)
    known = scipy.stats.mannwhitneyu(
        generated, held_out, alternative="less", method="asymptotic", use_continuity=False
    )
    assert scipy.stats.norm.cdf(found) == pytest.approx(known.pvalue, rel=1e-9)
    assert copying_test(held_out, held_out) == 0.0


def test_nearest(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(20, 5)), rng.normal(size=(30, 5))
    away = np.square(x[:, None] - y[None]).sum(axis=2)
    found = nearest(x, y)
    assert found.place.tolist() == away.argmin(axis=1).tolist()
    assert found.squared == pytest.approx(away.min(axis=1))
    own = np.square(y[:, None] - y[None]).sum(axis=2)
    np.fill_diagonal(own, np.inf)
    assert nearest(y, y, others=True).squared == pytest.approx(own.min(axis=1))


def test_copies_are_not_authentic(rng: np.random.Generator) -> None:
    training = rng.normal(size=(60, 4))
    near, among = training[:10] + 1e-3, nearest(training, training, others=True)
    assert not authentic(nearest(near, training), among).any()
    assert authentic(nearest(near + 50.0, training), among).all()
    copied = copying_test(nearest(rng.normal(size=(60, 4)), training).squared, np.zeros(30))
    assert copied < -5.0


def test_planted_copies(
    tmp_path: Path, write_clips: Callable[..., list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    training = write_clips(tmp_path / "training", 12)
    write_clips(tmp_path / "ref", 6, first_seed=50)
    write_clips(tmp_path / "eval", 6, first_seed=90)
    shutil.copy(training[3], tmp_path / "eval" / "copy.wav")
    file = tmp_path / "run.json"
    sides = [str(tmp_path / "ref"), str(tmp_path / "eval")]
    options = ["--metrics", "fad", "--training-set", str(tmp_path / "training")]  # asks for copies
    assert main(["logmel", *sides, *options, "--json", str(file), "--ci"]) == 0
    out = capsys.readouterr().out
    assert "1 with the same bytes" in out
    assert "copy.wav ~ " in out
    document = json.loads(file.read_text())
    jsonschema.validate(document, document_schema())
    _, result = document["results"]
    planted = [copy for copy in result["copies"] if copy["same_bytes"]]
    assert [Path(copy["training"]).name for copy in planted] == [training[3].name]
    assert planted[0]["held_out_as_near"] == 0.0
    assert 0.0 <= result["values"]["authenticity"] <= 1.0
    assert main(["logmel", *sides, "--metrics", "copies"]) == 2
    assert "--training-set DIR" in capsys.readouterr().err
    options[-1] = sides[0]
    assert main(["logmel", *sides, *options]) == 0
    said = capsys.readouterr()
    assert "6 reference clips are training clips, not held out" in said.err
    assert "copies of training clips: " in said.out or "none of 7 evaluated clips" in said.out
    options[-1] = str(tmp_path / "nowhere")
    assert main(["logmel", *sides, *options]) == 3
    assert "reference clips" not in capsys.readouterr().err  # before anything is embedded


def test_without_a_training_set() -> None:
    with pytest.raises(UsageError, match="needs the training clips"):
        Copies("logmel")
