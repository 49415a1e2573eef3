"""Reads labelled clips: a folder per class, a CSV, or FSD50K in its published layout."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from otadtk.audio.find import find_audio
from otadtk.errors import UsageError

FEWEST_CLASSES = 5
_SHOWN = 5
_TAKE = re.compile(r"(?:[ _\-.()]*(?:rr|v|take|sum|mid|main)?\d*)+$")


@dataclass(frozen=True)
class LabelledClip:
    """One clip: its class, its source collection and its recording.

    Clips of one recording (takes of one instrument, cuts of one file) are never on both sides of a
    split.
    """

    path: Path
    label: str
    source: str
    recording: str


def read_dataset(
    data: Path, labels: Path | None = None, *, split: str = "dev"
) -> list[LabelledClip]:
    """The clips of a dataset, sorted by path; at least 5 classes of at least 2 clips each."""
    if not data.is_dir():
        raise UsageError(f"There is no folder {data}.")
    if labels is not None:
        clips = _read_csv(data, labels)
    elif (data / "FSD50K.ground_truth").is_dir():
        clips = _read_fsd50k(data, split)
    elif (data / "labels.csv").is_file():
        clips = _read_csv(data, data / "labels.csv")
    else:
        clips = _read_folders(data)
    return _checked(clips, data)


def _checked(clips: list[LabelledClip], data: Path) -> list[LabelledClip]:
    counts = Counter(clip.label for clip in clips)
    single = sorted(label for label, count in counts.items() if count < 2)
    if single:
        raise UsageError(
            f"{_listed('class', single)} of {data} with one clip only: a class needs at least 2; "
            "add clips or leave the class out."
        )
    if len(counts) < FEWEST_CLASSES:
        raise UsageError(
            f"{data} has {len(counts)} classes; training needs at least {FEWEST_CLASSES}, of which "
            "a fifth is held out."
        )
    return sorted(clips, key=lambda clip: clip.path.as_posix())


def _listed(noun: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    plural = {"class": "classes"}.get(noun, noun + "s")
    return f"{len(names)} {plural if len(names) > 1 else noun} ({', '.join(names[:_SHOWN])}{more})"


def _read_folders(data: Path) -> list[LabelledClip]:
    """A folder per class: the class is the first folder below ``data``, the source is ``data``."""
    files = find_audio(data)
    loose = [str(file.relative_to(data)) for file in files if file.parent == data]
    if loose:
        raise UsageError(
            f"{_listed('file', loose)} in {data} without a class: put them into a folder per "
            "class, or name their classes in a CSV with --labels."
        )
    return [
        LabelledClip(file, file.relative_to(data).parts[0], data.name, str(file.relative_to(data)))
        for file in files
    ]


def _read_csv(data: Path, labels: Path) -> list[LabelledClip]:
    """A CSV with ``file`` and ``label``; optional ``source``, ``recording`` or ``source_path``."""
    try:
        with labels.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"The labels {labels} cannot be read: {error}.") from error
    if not rows or not {"file", "label"} <= rows[0].keys():
        raise UsageError(f"{labels} must have the columns file and label, and at least one row.")
    clips, unlabelled, missing, twice = [], [], [], set()
    for row in rows:
        path = data / row["file"]
        if not (row["label"] or "").strip():
            unlabelled.append(row["file"])
        if not path.is_file():
            missing.append(row["file"])
        if path in twice:
            raise UsageError(f"{labels} names {row['file']} twice; a clip has one class here.")
        twice.add(path)
        source = row.get("source") or data.name
        original = row.get("recording") or _recording(Path(row.get("source_path") or row["file"]))
        clips.append(LabelledClip(path, row["label"], source, f"{source}/{original}"))
    if unlabelled:
        raise UsageError(f"{_listed('file', unlabelled)} of {labels} without a label.")
    if missing:
        raise UsageError(f"{_listed('file', missing)} of {labels} that are not in {data}.")
    return clips


def _read_fsd50k(data: Path, split: str) -> list[LabelledClip]:
    """FSD50K: a clip has a class and all its ancestors in the ontology; the rarest is taken."""
    truth = data / "FSD50K.ground_truth"
    try:
        with (truth / "vocabulary.csv").open(newline="", encoding="utf-8") as file:
            known = {row[1] for row in csv.reader(file) if len(row) >= 2}
        with (truth / f"{split}.csv").open(newline="", encoding="utf-8") as file:
            rows = [(row["fname"], row["labels"].split(",")) for row in csv.DictReader(file)]
    except (OSError, KeyError, AttributeError, csv.Error) as error:
        raise UsageError(f"{truth} is not FSD50K's ground truth: {error}.") from error
    unknown = sorted({label for _, labels in rows for label in labels} - known)
    if unknown:
        raise UsageError(f"{_listed('class', unknown)} of {split}.csv not in vocabulary.csv.")
    counts = Counter(label for _, labels in rows for label in labels)
    clips, missing = [], []
    for name, labels in rows:
        path = data / f"FSD50K.{split}_audio" / f"{name}.wav"
        if not path.is_file():
            missing.append(path.name)
        label = min(labels, key=lambda one: (counts[one], one))
        clips.append(LabelledClip(path, label, "FSD50K", name))
    if missing:
        raise UsageError(f"{_listed('file', missing)} of {split}.csv that are not in {data}.")
    several = Counter(clip.label for clip in clips)
    return [clip for clip in clips if several[clip.label] > 1]


def _recording(place: Path) -> str:
    """A file name without its take number: ``Drum_v1_rr2`` and ``Drum_v2_rr1`` give the same."""
    bare = _TAKE.sub("", place.stem.lower())
    # a name that is only a number is its own recording
    return str(place.parent / bare) if bare else str(place)
