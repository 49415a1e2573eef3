"""Sets of frames: stored, scored, and named in the output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk import FAD, compute_fad, compute_kad
from otadtk.cli.score import main as score

Folders = tuple[Path, Path]


def test_own_frames_are_those_of_the_encoder(folders: Folders) -> None:
    for file in folders[0].iterdir():
        soundfile.write(file, np.random.default_rng(0).normal(size=40_000) * 0.1, 16_000)
    metric = FAD("logmel", frames="own")
    embedded = metric.embed(folders[0])
    from otadtk import get_encoder

    samples, _ = soundfile.read(embedded.files[0], dtype="float32")
    alone = get_encoder("logmel").encode_frames(samples, 16_000)
    assert embedded.frames is not None
    assert np.array_equal(embedded.frames_by_clip()[0], alone)
    assert np.allclose(embedded.vectors[0], alone.mean(axis=0))
    assert FAD("logmel", frames="own").embed(folders[0]).encoded == 0, "frames are stored too"
    assert FAD("logmel").embed(folders[0]).frames is None


def test_frames_on_the_command_line(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = (FAD("logmel", frames="own").embed(folder).points for folder in folders)
    pair = [str(folder) for folder in folders]
    assert len(x) > 8, "more frames than clips"
    for flag, distance in (("--fad", compute_fad), ("--kad", compute_kad)):
        assert score(["logmel", *pair, flag, "--frames", "own"]) == 0
        out, err = capsys.readouterr()
        assert out.split()[1] == f"{distance(x, y):.6f}"
        assert f"{len(x)} frames of logmel@own" in err
    table = tmp_path / "scores.csv"
    for flags in (["--frames", "own"], []):
        assert score(["logmel", *pair, "--fad", *flags, "--csv", str(table)]) == 0
    models = [line.split(",")[1] for line in table.read_text().splitlines()]
    assert models == ["model", "logmel@own", "logmel"]
    capsys.readouterr()
    assert score(["logmel", *pair, "--frames", "own"]) == 2
    assert "belong to FAD and KAD" in capsys.readouterr().err
    assert score(["logmel", *pair, "--fad", "--frames", "kadtk"]) == 2
    capsys.readouterr()
    assert score(["logmel", *pair, "--fad", "--frames", "own", "--ci"]) == 0
    assert "95 % interval: " in capsys.readouterr().out  # clips are left out, not single frames
    np.save(tmp_path / "x.npy", x)
    given = ["logmel", str(tmp_path / "x.npy"), pair[1], "--fad", "--frames", "own", "--null", "9"]
    assert score(given) == 2
    assert "which clip each frame belongs to" in capsys.readouterr().err
