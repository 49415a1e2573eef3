"""A small listening test: four systems that add more and more noise to five sounds."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.synthesis import KINDS, synthesise

RATE = 16_000
ITEMS = tuple(KINDS)[:5]
SYSTEMS = {"fine": 0.01, "fair": 0.05, "poor": 0.2, "bad": 0.8}
"""Systems with the level of their noise; listeners like them in this order."""


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture(scope="session")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SYSTEM/ITEM.wav for every system and for the reference."""
    root = tmp_path_factory.mktemp("sounds")
    for number, item in enumerate(ITEMS):
        clean = synthesise(item, number, 1.2, RATE)
        noise = np.random.default_rng(number).normal(size=len(clean)).astype(np.float32)
        loudness = float(np.sqrt(np.mean(clean**2)))
        for system, level in {"reference": 0.0, **SYSTEMS}.items():
            (root / system).mkdir(exist_ok=True)
            spoilt = clean + level * loudness * noise
            soundfile.write(root / system / f"{item}.wav", 0.3 * spoilt, RATE, subtype="FLOAT")
    return root


@pytest.fixture
def ratings(sounds: Path, tmp_path: Path) -> Path:
    """The test in the general layout: three listeners, and the hidden reference among the clips."""
    rows = []
    for place, system in enumerate(["reference", *SYSTEMS]):
        for number, item in enumerate(ITEMS):
            for rater in range(3):
                rating = 100 - 15 * place + 3 * rater - number
                clip, twin = (sounds / name / f"{item}.wav" for name in (system, "reference"))
                rows.append((clip, system, item, twin, rating, f"listener {rater}"))
    header = ("file", "system", "item", "reference", "rating", "rater")
    return write_csv(tmp_path / "noise.csv", header, rows)
