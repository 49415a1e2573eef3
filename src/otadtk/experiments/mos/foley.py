"""Reads and synthesises the layout of DCASE 2023 Task 7: clips by system, and human ratings.

    DIR/…/<system>/…/<category>/*.wav      100 clips a cell as published
    DIR/…/reference/…/<category>/*.wav     the real clips of the category

A system's folder has the name in the column ``alg`` or ``submission`` of the ratings.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from otadtk.audio.perturb import perturb
from otadtk.audio.synthesis import synthesise
from otadtk.errors import UsageError

REFERENCE = "reference"
CRITERIA = ("audio_quality", "category_fit")
_RATE = 16_000
_SOUNDS = {
    "dog_bark": "chirps",
    "footstep": "impacts",
    "gunshot": "bell",
    "keyboard": "alarm",
    "moving_motor_vehicle": "engine",
    "rain": "rain",
    "sneeze_cough": "speech",
}
"""The synthesised sound that replaces each category."""
_FAULTS = ("noise", "hum", "crush", "holes")

Ratings = dict[tuple[str, str], dict[str, float]]


@dataclass(frozen=True)
class Cell:
    """One system and category: the folders of its clips and of the reference, and the ratings."""

    system: str
    category: str
    clips: Path
    reference: Path
    ratings: dict[str, float]


def read_ratings(path: Path) -> tuple[Ratings, dict[str, str]]:
    """Ratings by (alg, category) and criterion, and a map from every system name to its alg."""
    rows = read_columns(path, ("alg", "category", "criterion", "mos"))
    ratings: Ratings = {}
    names = {}
    for row in rows:
        if row["criterion"] not in CRITERIA:
            raise UsageError(f"{path}: unknown criterion {row['criterion']!r}.")
        cell = ratings.setdefault((row["alg"], row["category"]), {})
        cell[row["criterion"]] = number(path, row["mos"])
        names[row["alg"]] = names[row.get("submission") or row["alg"]] = row["alg"]
    for key, cell in ratings.items():
        for criterion in CRITERIA:
            if criterion not in cell:
                raise UsageError(f"{path} has no {criterion} of {' '.join(key)}.")
    return ratings, names


def read_columns(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a CSV that must have these columns, with no empty cells in them."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    if not rows or not set(columns) <= rows[0].keys():
        raise UsageError(f"{path} must have the columns {', '.join(columns)} and at least one row.")
    for line, row in enumerate(rows, start=2):
        for name in columns:
            if not row[name]:
                raise UsageError(f"{path}, line {line}: {name} is empty.")
    return rows


def number(path: Path, text: str) -> float:
    """A finite number from a cell of a CSV."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise UsageError(f"{path}: {text!r} is not a number.")
    return value


def read_cells(folder: Path, ratings_path: Path) -> list[Cell]:
    """All rated cells; an error if the clips or the reference of a cell are missing."""
    ratings, names = read_ratings(ratings_path)
    categories = {category for _, category in ratings}
    found = dict(_folders(folder, categories, {**names, REFERENCE: REFERENCE}))
    cells = []
    for system, category in ratings:
        for owner in (system, REFERENCE):
            if (owner, category) not in found:
                raise UsageError(f"{folder} has no folder {owner}/…/{category} for the ratings.")
        clips, reference = found[system, category], found[REFERENCE, category]
        cells.append(Cell(system, category, clips, reference, ratings[system, category]))
    return cells


def _folders(
    folder: Path, categories: set[str], names: dict[str, str]
) -> Iterator[tuple[tuple[str, str], Path]]:
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    for place in sorted(path for path in folder.rglob("*") if path.is_dir()):
        owners = [names[part] for part in place.relative_to(folder).parts[:-1] if part in names]
        if place.name in categories and owners:
            yield (owners[-1], place.name), place


def synthesise_foley(folder: Path, *, systems: int, clips: int, seed: int) -> Path:
    """Write a small folder in this layout with ratings; returns the path of the ratings.

    Systems differ in the number and strength of faults, and in the share of clips of another
    category. The ratings follow these two, so a metric that detects them must correlate.
    """
    rng = np.random.default_rng(seed)
    categories = list(_SOUNDS)
    lines = [("submission", "alg", "category", "criterion", "mos")]
    for place, category in enumerate(categories):
        for take in range(clips):
            sound = synthesise(_SOUNDS[category], 10_000 + 100 * place + take, 1.0, _RATE)
            _write(folder / REFERENCE / category / f"{take}.wav", sound)
    scale = np.linspace(0.0, 1.0, systems)
    faults = list(zip(rng.permutation(scale), rng.permutation(scale), strict=True))
    for system, (badness, strangeness) in enumerate(faults):
        alg = f"System{system + 1:02d}"
        for place, category in enumerate(categories):
            for take in range(clips):
                strange = rng.random() < 0.5 * strangeness
                kind = categories[int(rng.integers(len(categories)))] if strange else category
                sound_seed = 1000 * (system + 20) + 100 * place + take
                sound = synthesise(_SOUNDS[kind], sound_seed, 1.0, _RATE)
                if rng.random() < badness:
                    sound = perturb(str(rng.choice(_FAULTS)), sound, _RATE, rng, badness)
                _write(folder / alg / category / f"{take}.wav", sound)
            for criterion, fault in zip(CRITERIA, (badness, strangeness), strict=True):
                rating = 9.0 - 7.0 * fault + rng.normal(scale=0.3)
                lines.append((alg, alg, category, criterion, f"{rating:.3f}"))
    ratings = folder / "ratings.csv"
    with ratings.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    return ratings


def _write(path: Path, sound: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.clip(sound, -1.0, 1.0), _RATE, subtype="PCM_16")
