"""Labelled clips from folders, CSV files and FSD50K; what is wrong with them is said."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from otadtk.errors import UsageError
from otadtk.training.datasets import LabelledClip, read_dataset
from otadtk.training.split import halves, held_out


def test_folders(sounds: Path) -> None:
    clips = read_dataset(sounds)
    assert len(clips) == 48
    assert {clip.label for clip in clips} == {folder.name for folder in sounds.iterdir()}
    assert len({clip.recording for clip in clips}) == 48


def test_csv(sounds: Path, labels: Path) -> None:
    clips = read_dataset(sounds, labels)
    assert len(clips) == 48
    assert {clip.source for clip in clips} == {"a", "b"}
    assert len({clip.recording for clip in clips}) == 48  # a pair spans two collections


def test_takes_of_one_source_file_are_one_recording(tmp_path: Path) -> None:
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "label", "source_path"])
        for number in range(10):
            name = f"{number}.wav"
            (tmp_path / name).touch()
            writer.writerow([name, f"class {number // 2}", f"Drum{number // 2}x_v{number}_rr1.wav"])
    clips = read_dataset(tmp_path)
    assert len({clip.recording for clip in clips}) == 5


@pytest.fixture
def fsd50k(tmp_path: Path) -> Path:
    for folder in ("dev_audio", "eval_audio", "ground_truth"):
        (tmp_path / f"FSD50K.{folder}").mkdir()
    truth = tmp_path / "FSD50K.ground_truth"
    names = [f"Kind_{i}" for i in range(6)]
    with (truth / "vocabulary.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            (i, name, f"/m/{i}") for i, name in enumerate([*names, "Everything"])
        )
    for split, first in (("dev", 0), ("eval", 100)):
        with (truth / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["fname", "labels", "mids"])
            for number in range(first, first + 18):
                labels = f"Everything,{names[number % 6]}"
                writer.writerow([number, labels, "/m/1"])
                (tmp_path / f"FSD50K.{split}_audio" / f"{number}.wav").touch()
    return tmp_path


def test_fsd50k(fsd50k: Path) -> None:
    clips = read_dataset(fsd50k)
    assert len(clips) == 18
    assert {clip.label for clip in clips} == {f"Kind_{i}" for i in range(6)}  # never "Everything"
    assert read_dataset(fsd50k, split="eval")[0].path.parent.name == "FSD50K.eval_audio"


def test_fsd50k_with_holes(fsd50k: Path) -> None:
    (fsd50k / "FSD50K.dev_audio" / "3.wav").unlink()
    with pytest.raises(UsageError, match=r"1 file \(3.wav\) of dev.csv that are not"):
        read_dataset(fsd50k)
    (fsd50k / "FSD50K.ground_truth" / "vocabulary.csv").write_text("0,Kind_0,/m/0\n")
    with pytest.raises(UsageError, match="not in vocabulary"):
        read_dataset(fsd50k)
    (fsd50k / "FSD50K.ground_truth" / "dev.csv").unlink()
    with pytest.raises(UsageError, match="not FSD50K's ground truth"):
        read_dataset(fsd50k)


Break = Callable[[Path], object]
WRONG: dict[str, tuple[Break, str]] = {
    "one clip": (
        lambda p: [f.unlink() for f in sorted(sorted(p.iterdir())[0].iterdir())[1:]],
        "one clip only",
    ),
    "few classes": (lambda p: [shutil.rmtree(f) for f in list(p.iterdir())[:2]], "has 4 classes"),
    "loose files": (lambda p: shutil.copy(next(p.glob("*/*.wav")), p / "x.wav"), "without a class"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_folders(sounds: Path, tmp_path: Path, case: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(sounds, copy)
    damage, message = WRONG[case]
    damage(copy)
    with pytest.raises(UsageError, match=message):
        read_dataset(copy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,class\nx,y\n", "columns file and label"),
        ("file,label\n", "at least one row"),
        ("file,label\nnone.wav,dog\n", r"1 file \(none.wav\)"),
        ("file,label\nFIRST,\n", "without a label"),
        ("file,label\nFIRST,a\nFIRST,b\n", "twice"),
    ],
)
def test_bad_csv(sounds: Path, tmp_path: Path, text: str, message: str) -> None:
    first = str(next(sounds.glob("*/*.wav")).relative_to(sounds))
    path = tmp_path / "labels.csv"
    path.write_text(text.replace("FIRST", first))
    with pytest.raises(UsageError, match=message):
        read_dataset(sounds, path)


def test_missing_places(tmp_path: Path, sounds: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        read_dataset(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be read"):
        read_dataset(sounds, tmp_path / "none.csv")


def clips(recordings: list[tuple[str, str]]) -> list[LabelledClip]:
    return [
        LabelledClip(Path(f"{i}.wav"), label, "s", recording)
        for i, (label, recording) in enumerate(recordings)
    ]


def test_whole_classes_are_held_out_and_no_recording_is_on_both_sides() -> None:
    made = clips([(f"class {i % 10}", f"take {i // 3}") for i in range(200)])
    for seed in range(5):
        train, validation = held_out(made, seed)
        labels = np.array([clip.label for clip in made])
        recordings = np.array([clip.recording for clip in made])
        assert len(set(labels[validation])) == 2
        assert not set(labels[train]) & set(labels[validation])
        assert not set(recordings[train]) & set(recordings[validation])
        first, second = halves(made, validation, seed)
        assert not set(recordings[first]) & set(recordings[second])
        assert ((first | second) == validation).all()
    assert (held_out(made, 3)[0] == held_out(made, 3)[0]).all()


def test_recordings_that_tie_everything_together() -> None:
    with pytest.raises(UsageError, match="Too few classes are left"):
        held_out(clips([(f"class {i % 5}", "one") for i in range(50)]), 0)
