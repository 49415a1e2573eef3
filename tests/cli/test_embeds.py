"""``otadtk-embeds``: fills the cache, with one model or several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import otadtk.audio.decode
from otadtk.cli import embeds
from otadtk.cli.score import main as score
from otadtk.embed import AudioPass, FilledStore
from otadtk.encoders import get_spec
from otadtk.encoders.networks import BUILT_IN
from otadtk.metrics.ground import spec_to_score

Folders = tuple[Path, Path]


def test_fills_the_cache(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(folder) for folder in folders]
    assert embeds.main(["-m", "logmel", "-d", *paths]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"logmel {p}: 8 clips" for p in paths]
    assert all("8 embedded now" in line for line in lines)
    embeds.main(["-m", "logmel", "-d", *paths])
    assert capsys.readouterr().out.count(" 0 embedded now") == 2
    score(["logmel", *paths])
    assert "(8 from the cache)" in capsys.readouterr().err


def test_several_models(folders: Folders, cache: Path) -> None:
    assert embeds.main(["-m", "logmel", "yamnet", "-d", str(folders[0])]) == 0
    assert len(list(cache.rglob("*.clip"))) == 16


def test_a_bad_folder_does_not_keep_the_others_out(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / "bad.wav").write_text("no audio")
    assert embeds.main(["-m", "logmel", "-d", *map(str, folders)]) == 3
    out, err = capsys.readouterr()
    assert str(folders[1]) in out
    assert "bad.wav: it is not readable audio" in err


def test_unknown_model(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert embeds.main(["-m", "pans", "-d", str(folders[0])]) == 2
    assert "Unknown model 'pans'" in capsys.readouterr().err


OWN = """
import numpy as np

class {name}:
    name, target_sr, embedding_dim = "{name}", {rate}, 1

    def encode(self, wav, sr):
        return np.array([float(wav.abs().mean())])
"""


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    """Three encoders, two of which share a rate."""
    found = ["logmel"]
    for name, rate in (("Same", 16_000), ("Other", 8_000)):
        (tmp_path / f"{name}.py").write_text(OWN.format(name=name, rate=rate))
        found.append(f"{tmp_path / name}.py:{name}")
    return found


def test_command_with_several_models(
    tmp_path: Path,
    write_clips: Callable[..., list[Path]],
    models: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_clips(tmp_path / "clips", 2)
    options = ["-d", str(tmp_path / "clips"), "--cache-dir", str(tmp_path / "s"), "-q"]
    assert embeds.main(["-m", *models, *models, *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["logmel", "Same", "Other"]
    assert all("2 clips, 2 embedded now" in line for line in lines)
    own = ["--weights", str(tmp_path / "Same.py")]
    assert embeds.main(["-m", *models, *options, *own]) == 2
    assert "must be a folder" in capsys.readouterr().err


def test_all_means_every_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def note(audio: AudioPass, folder: Path) -> FilledStore:
        seen.append([encoder.spec.name for encoder in audio.encoders])
        raise otadtk.errors.AudioError("enough")

    monkeypatch.setattr(AudioPass, "fill_store", note)
    assert embeds.main(["-m", "all", "-d", str(tmp_path)]) == 3
    assert seen == [[spec_to_score(get_spec(name)).name for name in sorted(BUILT_IN)]]
    assert "yamnet" not in seen[0], "the features of its default variant are embedded"
