"""A tiny dataset in the layout of ESC-50: five classes, five folds, two clips of each in a fold."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import soundfile

from otadtk.audio.synthesis import KINDS, synthesise

RATE = 16_000


@pytest.fixture(scope="session")
def esc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("esc")
    (root / "audio").mkdir()
    (root / "meta").mkdir()
    lines = [("filename", "fold", "target", "category", "esc10", "src_file", "take")]
    for target, kind in enumerate(list(KINDS)[:5]):
        for number in range(10):
            fold = 1 + number % 5
            name = f"{fold}-{target}{number:02d}-A-{target}.wav"
            clip = synthesise(kind, 100 * target + number, 1.6, RATE)
            soundfile.write(root / "audio" / name, clip, RATE, subtype="PCM_16")
            lines.append((name, str(fold), str(target), kind, "False", f"{target}{number}", "A"))
    with (root / "meta" / "esc50.csv").open("w", newline="") as file:
        csv.writer(file).writerows(lines)
    return root
