"""Whether encoders with real weights tell apart what they were made for.

    python benchmarks/encoder_sanity.py speakers SOUNDS --encoders ecapa whisper yamnet logmel
    python benchmarks/encoder_sanity.py instruments SOUNDS --encoders musicnn yamnet logmel
    python benchmarks/encoder_sanity.py musicnn-layers SOUNDS
    python benchmarks/encoder_sanity.py esc50 ESC50 --encoders whisper musicnn ecapa [--folds 1]
    python benchmarks/encoder_sanity.py esc10 ESC50 --encoders cdpam yamnet logmel --folds 1

SOUNDS is a folder with a labels.csv of file, label, source and source_path. ``speakers``: the equal
error rate of the cosine between two utterances (free-spoken-digit-dataset, 8 kHz), same speaker or not;
an utterance is one digit of about 0.4 s, or five of them in a row. ``instruments``: share of clips
(VSCO-2-CE, up to 20 of each instrument) whose nearest other clip by cosine is of the same instrument.
``musicnn-layers``: the same with the layers before the
embedding, whose maxima and means over time the network pools, and with short notes repeated to 3 s
instead of zeros behind them. ``esc50``: the same within each fold of ESC-50, mean over folds; ``esc10``
takes its ten classes of ESC-10 only. These two keep their embeddings in the store.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
from numpy.typing import NDArray

from otadtk import FAD, get_encoder

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
    parser.add_argument(
        "what", choices=["speakers", "instruments", "musicnn-layers", "esc50", "esc10"]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoders", nargs="+", default=["yamnet", "logmel"])
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    options = parser.parse_args()
    if options.what == "musicnn-layers":
        musicnn_layers(options.folder)
        return
    print(f"| encoder | {options.what} |\n|---|---|")
    for name in options.encoders:
        if options.what == "speakers":
            one, five = (speakers(name, options.folder, digits) for digits in (1, 5))
            shown = f"equal error rate {one:.3f} with one digit, {five:.3f} with five"
        elif options.what == "instruments":
            shown = f"1-NN {instruments(name, options.folder):.3f}"
        else:
            ten = options.what == "esc10"
            shown = f"1-NN {esc50(name, options.folder, options.folds, ten=ten):.3f}"
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
    vectors = embedded(name, [clips for _, clips in utterances])
    who = np.array([speaker for speaker, _ in utterances])
    pairs = np.triu(np.ones((len(who), len(who)), dtype=bool), k=1)
    same, cosines = who[:, None] == who, vectors @ vectors.T
    return equal_error_rate(cosines[pairs & same], cosines[pairs & ~same])


def equal_error_rate(same: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Where as many pairs of one speaker are rejected as pairs of two are accepted."""
    thresholds = np.sort(np.concatenate([same, other]))
    missed = np.searchsorted(np.sort(same), thresholds) / len(same)
    accepted = 1.0 - np.searchsorted(np.sort(other), thresholds) / len(other)
    nearest = int(np.argmin(np.abs(missed - accepted)))
    return float(missed[nearest] + accepted[nearest]) / 2.0


def instruments(name: str, folder: Path) -> float:
    files = notes(folder)
    return one_nearest(embedded(name, [f for f, _ in files]), [label for _, label in files])


def notes(folder: Path) -> list[tuple[Path, str]]:
    """The notes with their instruments."""
    taken: dict[str, list[Path]] = defaultdict(list)
    for row in labels(folder):
        if row["label"] in WIND_AND_STRINGS and "VSCO" in row["source"]:
            taken[row["label"]].append(folder / row["file"])
    return [(f, label) for label, found in taken.items() for f in found[:MOST_PER_INSTRUMENT]]


def musicnn_layers(folder: Path) -> None:
    """Print how well each part of musicnn tells instruments apart, as it is and standardised."""
    encoder: Any = get_encoder("musicnn", device="cpu")
    pools: list[torch.Tensor] = []  # of the patches of a clip: maximum and mean of each channel
    encoder.network.pooled_norm.register_forward_pre_hook(lambda _, given: pools.append(given[0]))
    found: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    files = notes(folder)
    for file, _ in files:
        samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
        note = samples.mean(axis=1)
        repeated = np.resize(note, max(len(note), 3 * rate))
        for how, wave in (("", note), (", repeated", repeated)):
            pools.clear()
            found[f"embedding{how}"].append(encoder.encode(wave, rate))
            pooled = torch.cat(pools).mean(dim=0).numpy()
            found[f"means{how}"].append(pooled[1::2])
            found[f"maxima and means{how}"].append(pooled)
    print("| layer | 1-NN | standardised |\n|---|---|---|")
    names = [label for _, label in files]
    for title, rows in found.items():
        vectors = np.stack(rows).astype(np.float64)
        scaled = (vectors - vectors.mean(axis=0)) / (vectors.std(axis=0) + 1e-9)
        shares = [one_nearest(unit(v), names) for v in (vectors, scaled)]
        print(f"| {title} | {shares[0]:.3f} | {shares[1]:.3f} |", flush=True)


def esc50(name: str, folder: Path, folds: list[int], *, ten: bool) -> float:
    with (folder / "meta" / "esc50.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    shares = []
    for fold in folds:
        chosen = [
            row for row in rows if int(row["fold"]) == fold and (not ten or row["esc10"] == "True")
        ]
        files = [folder / "audio" / row["filename"] for row in chosen]
        vectors = FAD(name).embed(files).vectors
        shares.append(one_nearest(unit(vectors), [row["category"] for row in chosen]))
    return float(np.mean(shares))


def one_nearest(vectors: NDArray[np.float64], names: list[str]) -> float:
    cosines = vectors @ vectors.T
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
    return unit(np.stack(vectors))


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """The vectors at unit length."""
    found = vectors.astype(np.float64)
    scaled: NDArray[np.float64] = found / np.linalg.norm(found, axis=1, keepdims=True).clip(1e-12)
    return scaled


def labels(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
