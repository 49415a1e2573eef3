"""The page shows verdicts: a sentence, a mark and filter for bad clips, the share of spoilt clips."""

from __future__ import annotations

import json
import re

import numpy as np

from otadtk import OTAD
from otadtk.cli.score import main


def test_bad_clips_are_marked_on_the_page(tmp_path):
    points = np.random.default_rng(0).normal(size=(260, 6)).astype(np.float32)
    points[200:208] *= 4.0
    np.save(tmp_path / "ref.npy", points[:200])
    np.save(tmp_path / "eval.npy", points[200:])
    metric = OTAD("given", epsilon=1.0)
    diagnostics = metric.diagnose(tmp_path / "ref.npy", tmp_path / "eval.npy").judged(0.2)
    page = diagnostics.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])
    bad = diagnostics.verdicts(fdr=0.2).bad.tolist()
    assert [flags[:1] == ["bad"] for flags in data["evaluated"]["flags"]] == bad and any(bad)
    assert f"{sum(bad)} of 60 clips are worse than chance allows" in data["summary"]["verdict"]
    assert "Spoilt clips (p = 0.0" in page


def test_labels_give_precision_and_recall_of_the_verdicts(tmp_path, capsys):
    points = np.random.default_rng(0).normal(size=(260, 6)).astype(np.float32)
    points[200:208] *= 4.0
    np.save(tmp_path / "ref.npy", points[:200])
    names = np.array([f"clip{k}" for k in range(60)])
    np.savez(tmp_path / "eval.npz", embeddings=points[200:], names=names)
    labels = tmp_path / "labels.csv"
    labels.write_text("file,fault\n" + "".join(f"clip{k},far\n" for k in range(8)))
    places = [str(tmp_path / "ref.npy"), str(tmp_path / "eval.npz")]
    assert main(["given", *places, "--epsilon", "1", "--fdr", "0.2", "--labels", str(labels)]) == 0
    out = capsys.readouterr().out
    called, found = (
        re.search(r"(\d+) of 60 clips", out)[1],
        re.search(r"recall .*\((\d) of 8\)", out),
    )
    assert int(found[1]) >= 6
    assert f"({found[1]} of {called})" in out
