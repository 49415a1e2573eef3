"""A tiny labelled dataset of synthesised sounds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import soundfile

from otadtk.audio.synthesis import KINDS, synthesise

RATE = 16_000


@pytest.fixture(scope="session")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder per class: six classes of eight clips, alternately long enough to be shuffled."""
    root = tmp_path_factory.mktemp("sounds")
    for number, kind in enumerate(list(KINDS)[:6]):
        (root / kind).mkdir()
        for take in range(8):
            clip = synthesise(kind, 100 * number + take, 1.6 if take % 2 else 0.8, RATE)
            soundfile.write(root / kind / f"{take}.wav", clip, RATE, subtype="PCM_16")
    return root


@pytest.fixture
def labels(sounds: Path, tmp_path: Path) -> Path:
    """The same dataset as a CSV, with two collections and recordings of two clips each."""
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "label", "source", "recording"])
        for clip in sorted(sounds.rglob("*.wav")):
            take = int(clip.stem)
            name = str(clip.relative_to(sounds))
            source, recording = "ab"[take % 2], f"{clip.parent.name}-{take // 2}"
            writer.writerow([name, clip.parent.name, source, recording])
    return path
