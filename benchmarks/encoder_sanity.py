"""Whether encoders with real weights tell apart what they were made for.

    python benchmarks/encoder_sanity.py speakers SOUNDS --encoders ecapa whisper yamnet logmel
    python benchmarks/encoder_sanity.py instruments SOUNDS --encoders musicnn yamnet logmel
    python benchmarks/encoder_sanity.py esc50 ESC50 --encoders whisper musicnn ecapa cdpam [--folds 1]

SOUNDS is a folder with a labels.csv of file, label, source and source_path. ``speakers``: the equal
error rate of the cosine between two utterances (free-spoken-digit-dataset, 8 kHz), same speaker or not;
an utterance is one digit of about 0.4 s, or five of them in a row. ``instruments``: share of clips
(VSCO-2-CE, up to 20 of each instrument) whose nearest other clip by cosine is of the same instrument.
``esc50``: the same within each fold of ESC-50, mean over folds.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from otadtk import get_encoder

WIND_AND_STRINGS = (
    "bassoon",
    "cello",
    "clarinet",
    "contrabass",
    "flute",
    "french_horn",
    "harp",
    "oboe",
    "organ",
    "piano",
    "trombone",
    "trumpet",
    "tuba",
    "viola",
    "violin",
)
MOST_PER_INSTRUMENT = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speakers", "instruments", "esc50"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoders", nargs="+", default=["yamnet", "logmel"])
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    options = parser.parse_args()
    print(f"| encoder | {options.what} |\n|---|---|")
    for name in options.encoders:
        if options.what == "speakers":
            one, five = (speakers(name, options.folder, digits) for digits in (1, 5))
            shown = f"equal error rate {one:.3f} with one digit, {five:.3f} with five"
        elif options.what == "instruments":
            shown = f"1-NN {instruments(name, options.folder):.3f}"
        else:
            shown = f"1-NN {esc50(name, options.folder, options.folds):.3f}"
        print(f"| `{name}` | {shown} |", flush=True)


def speakers(name: str, folder: Path, digits: int) -> float:
    """The equal error rate for utterances of so many digits of one speaker."""
    spoken: dict[str, list[Path]] = defaultdict(list)
    for row in labels(folder):
        if "free-spoken-digit" in row["source"]:
            spoken[row["source_path"].split("_")[1]].append(folder / row["file"])
    # clips of one speaker are listed by digit: every k-th makes utterances of different digits
    utterances = [
        (who, clips[start :: len(clips) // digits][:digits])
        for who, clips in spoken.items()
        for start in range(len(clips) // digits)
    ]
    unit = embedded(name, [clips for _, clips in utterances])
    who = np.array([speaker for speaker, _ in utterances])
    pairs = np.triu(np.ones((len(who), len(who)), dtype=bool), k=1)
    same, cosines = who[:, None] == who, unit @ unit.T
    return equal_error_rate(cosines[pairs & same], cosines[pairs & ~same])


def equal_error_rate(same: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Where as many pairs of one speaker are rejected as pairs of two are accepted."""
    thresholds = np.sort(np.concatenate([same, other]))
    missed = np.searchsorted(np.sort(same), thresholds) / len(same)
    accepted = 1.0 - np.searchsorted(np.sort(other), thresholds) / len(other)
    nearest = int(np.argmin(np.abs(missed - accepted)))
    return float(missed[nearest] + accepted[nearest]) / 2.0


def instruments(name: str, folder: Path) -> float:
    taken: dict[str, list[Path]] = defaultdict(list)
    for row in labels(folder):
        if row["label"] in WIND_AND_STRINGS and "VSCO" in row["source"]:
            taken[row["label"]].append(folder / row["file"])
    files = [(f, label) for label, found in taken.items() for f in found[:MOST_PER_INSTRUMENT]]
    return one_nearest(embedded(name, [f for f, _ in files]), [label for _, label in files])


def esc50(name: str, folder: Path, folds: list[int]) -> float:
    with (folder / "meta" / "esc50.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    shares = []
    for fold in folds:
        chosen = [row for row in rows if int(row["fold"]) == fold]
        unit = embedded(name, [folder / "audio" / row["filename"] for row in chosen])
        shares.append(one_nearest(unit, [row["category"] for row in chosen]))
    return float(np.mean(shares))


def one_nearest(unit: NDArray[np.float64], names: list[str]) -> float:
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = cosines.argmax(axis=1)
    return float(np.mean([names[i] == names[j] for i, j in enumerate(nearest)]))


def embedded(name: str, clips: Sequence[Path | list[Path]]) -> NDArray[np.float64]:
    """Clip vectors of unit length; several files of one clip are joined."""
    encoder = get_encoder(name, device="cpu")
    vectors = []
    for clip in clips:
        parts = [
            soundfile.read(file, dtype="float32", always_2d=True)
            for file in (clip if isinstance(clip, list) else [clip])
        ]
        samples = np.concatenate([samples.mean(axis=1) for samples, _ in parts])
        vectors.append(encoder.encode(samples, parts[0][1]))
    found = np.stack(vectors).astype(np.float64)
    return found / np.linalg.norm(found, axis=1, keepdims=True).clip(1e-12)


def labels(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
