"""Published scores prove an encoder: the right one passes, another one fails."""

from __future__ import annotations

import csv
import dataclasses
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from otadtk.audio.synthesis import synthesise
from otadtk.cli import list_models
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.moments import moments
from otadtk.encoders import Encoder, EncoderSpec, Encoding, frames, get_spec, load_encoder
from otadtk.errors import UsageError
from otadtk.evaluation import verify as verifying
from otadtk.evaluation.verify import Verification, verify
from otadtk.weights import PackageMember, digest_of

CPU = torch.device("cpu")
KINDS = ("rain", "engine", "bell")
NAME = "toy-model"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderSpec:
    """logmel, with scores in an archive like fadtk's."""
    monkeypatch.setitem(frames._RULES, ("logmel", "fadtk"), frames._all_frames)
    toy = dataclasses.replace(get_spec("logmel"), published_scores=NAME)
    root = tmp_path / "fadtk-1.1.0" / "fadtk"
    (root / "test" / "samples").mkdir(parents=True)
    (root / "stats").mkdir()
    encoder = load_encoder(frames.with_frames(toy, "fadtk"), CPU)
    found = {}
    for kind in KINDS:
        path = root / "test" / "samples" / f"{kind}.opus"
        sound = synthesise(kind, 0, 4.0, 48_000)
        soundfile.write(path, sound, 48_000, format="OGG", subtype="OPUS")
        found[kind] = verifying._frames(encoder, path)
    found["all"] = np.concatenate(list(found.values()))
    noise = np.random.default_rng(0).normal(size=(500, toy.dim))
    background = found["all"].mean(axis=0) + 3.0 * noise
    np.savez(
        root / "stats" / "fma_pop.npz",
        **{f"{NAME}.mu": background.mean(axis=0), f"{NAME}.cov": np.cov(background.T)},
    )
    with (root / "test" / "samples_FAD_scores.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["song_id", "dataset", "FAD_toy_model_fma_pop"])
        for kind, rows in found.items():
            score = frechet_distance(moments(background), moments(rows))
            writer.writerow([f"samples/{kind}", "toy", score])
    archive = tmp_path / "fadtk-1.1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as sdist:
        sdist.add(tmp_path / "fadtk-1.1.0", "fadtk-1.1.0")
    member = PackageMember("fadtk", "1.1.0", archive.name, digest_of(archive), "")
    monkeypatch.setattr(verifying, "FADTK", member)
    monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path))
    monkeypatch.setattr("otadtk.encoders.get_spec", lambda name: toy)
    return toy


class Shuffled(Encoder):
    """An encoder whose last layer has random weights."""

    def __init__(self, inner: Encoder) -> None:
        super().__init__(inner.spec, inner.device)
        self._inner = inner
        dim = inner.spec.dim
        self._layer = torch.randn(dim, dim, generator=torch.Generator().manual_seed(0)) / dim**0.5

    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        return [
            Encoding(e.frames @ self._layer, e.weights)
            for e in self._inner.encode_segments(segments)
        ]


def test_the_right_encoder_passes(spec: EncoderSpec, capsys: pytest.CaptureFixture[str]) -> None:
    assert list_models.main(["--verify", "toy"]) == 0
    out = capsys.readouterr().out
    assert "pass: 4 published FAD scores, largest deviation" in out
    assert "rain" in out


def test_random_weights_fail(
    spec: EncoderSpec, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        verifying, "load_encoder", lambda *arguments: Shuffled(load_encoder(*arguments))
    )
    found = verify(spec, CPU)
    assert not found.passed
    assert max(found.deviations) > 0.2
    assert list_models.main(["--verify", "toy"]) == 4
    captured = capsys.readouterr()
    assert "FAIL: 4 published FAD scores" in captured.out
    assert "logmel: not what was published." in captured.err


def test_what_has_no_scores_is_unverified(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_models.main(["--verify", "beats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["beats: no scores are published for it", "beats: unverified"]
    with pytest.raises(UsageError, match="'panns': it cannot be verified"):
        verify(get_spec("panns"), CPU)


def test_the_limit_is_five_percent_of_the_mean() -> None:
    clips, published = ("a", "b"), (1.0, 3.0)
    assert Verification(clips, (1.09, 3.0), published).passed
    assert not Verification(clips, (1.11, 3.0), published).passed
    assert "5.5 % of their mean (a: 1.11 here, 1 published" in (
        Verification(clips, (1.11, 3.0), published).summary
    )
