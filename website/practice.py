"""Writes small folders, lists and tables with the names that the pages use, to try their commands on.

python -m website.practice practice && cd practice
"""

from __future__ import annotations

import argparse
import csv
import sys
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import soundfile

from otadtk.audio.perturb import perturb
from otadtk.audio.synthesis import KINDS, Waveform, synthesise

RATE = 16_000
SECONDS = 1.0
CLIPS = 10
"""A floor needs ten clips a side."""
FOLDERS = {
    "a": ("real", "clean", "base", "ref", "train"),
    "b": ("more_real", "system", "system_a", "release", "eval", "runs/step_3000"),
    "c": ("system_c", "candidate", "heldout", "runs/step_2000"),
    "spoilt": ("generated", "baseline", "system_b", "runs/step_1000"),
}
"""The folders with the same clips; every fourth of the spoilt ones has a fault."""


def main(arguments: list[str] | None = None) -> None:
    """Write everything into the folder named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty; name a new folder.")
    write(folder)


def write(folder: Path) -> None:
    """Write everything that the pages name."""
    for place, (clips, names) in enumerate(FOLDERS.items()):
        for number in range(CLIPS):
            sound = clip(CLIPS * place + number)
            if clips == "spoilt" and number % 4 == 0:
                sound = perturb("clipping", sound, RATE, np.random.default_rng(number), 1.0)
            for name in names:
                save(folder / name / f"{number}.wav", sound)
    for number in range(CLIPS):  # each made from the clean clip of the same name
        noisy = perturb("noise", clip(number), RATE, np.random.default_rng(number), 0.3)
        save(folder / "enhanced" / f"{number}.wav", noisy)
    for kind in list(KINDS)[:6]:
        for number in range(6):
            save(
                folder / "sounds" / kind / f"{number}.wav", synthesise(kind, number, SECONDS, RATE)
            )
    for step in sorted((folder / "runs").iterdir()):
        (step / "0.wav").rename(step / "sample.wav")
    lists_and_tables(folder)
    listening_tests(folder)
    archive(folder)


def clip(seed: int) -> Waveform:
    """A clip of a second, of a kind drawn at random."""
    kind = np.random.default_rng(seed).choice(list(KINDS))
    return synthesise(str(kind), seed, SECONDS, RATE)


def save(path: Path, sound: Waveform) -> None:
    """Write a clip, and its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, sound, RATE, subtype="PCM_16")


def lists_and_tables(folder: Path) -> None:
    """What is given beside the clips: labels, groups, captions, a list, a manifest, vectors."""
    names = [f"{number}.wav" for number in range(CLIPS)]
    kinds = [list(KINDS)[number % 2] for number in range(CLIPS)]
    faults = ["clipping" if number % 4 == 0 else "" for number in range(CLIPS)]
    table(folder / "bad.csv", ("file", "kind"), zip(names, faults, strict=True))
    for name in ("groups.csv", "speakers.csv"):
        table(folder / name, ("file", "group"), zip(names, kinds, strict=True))
    table(folder / "captions.csv", ("file", "caption"), zip(names, kinds, strict=True))
    rows = [
        (f"generated/{name}", "0.1", "0.9", kind) for name, kind in zip(names, kinds, strict=True)
    ]
    table(folder / "generated.csv", ("file", "start", "end", "group"), rows)
    (folder / "real.txt").write_text("".join(f"real/{name}\n" for name in names))
    vectors = np.random.default_rng(0).standard_normal((2, CLIPS, 8))
    np.save(folder / "real.npy", vectors[0])
    np.savez(folder / "generated.npz", embeddings=vectors[1])


def listening_tests(folder: Path) -> None:
    """Two tables of ratings, and a matrix of dissimilarities with its sounds."""
    for test, seed in (("test", 0), ("other", 1)):
        rng = np.random.default_rng(seed)
        rows = [
            (f"{system}/{k}.wav", system, k, f"clean/{k}.wav", level + rng.integers(9))
            for system, level in (("clean", 90), ("enhanced", 60), ("eval", 30), ("candidate", 20))
            for k in range(4)
        ]
        table(folder / f"{test}.csv", ("file", "system", "item", "reference", "rating"), rows)
    for number in range(5):
        save(folder / "study" / f"{number}.wav", clip(number))
    places = np.arange(5)
    np.savetxt(folder / "study.txt", np.abs(places[:, None] - places), fmt="%d")


def archive(folder: Path) -> None:
    """A shard with the real clips."""
    (folder / "shards").mkdir()
    with tarfile.open(folder / "shards" / "000.tar", "w") as shard:
        for path in sorted((folder / "real").iterdir()):
            shard.add(path, path.name)


def table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


if __name__ == "__main__":
    main()
