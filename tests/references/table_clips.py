"""Two folders of clips of equal names, on which protocols are compared with the tools they name."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).parents[1] / "encoders" / "references"))
from seeded import clip  # type: ignore[import-not-found]

KINDS = ("noise", "voice", "clicks", "saw", "bassoon")
CLIPS = 12


FEW, LONG = 3, 11.3
"""How many clips slow networks get, and the length of the first reference clip in seconds."""


def write_clips(
    folder: Path, *, few: bool = False, long: bool = True, count: int = CLIPS
) -> tuple[Path, Path]:
    """A reference and an evaluated folder: other rates, two channels, an offset, short clips.

    ``few`` clips are three a side at full band, the first reference clip ``long``: where a spectrogram
    in decibels has nothing but rounding, no two programs agree.
    """
    sides = folder / "reference", folder / "evaluated"
    for number, side in enumerate(sides):
        side.mkdir(parents=True, exist_ok=True)
        for k in range(FEW if few else count):
            rate = ((44_100, 48_000, 44_100) if few else (16_000, 22_050, 44_100))[k % 3]
            samples = round(
                rate * (LONG if few and long and k == number == 0 else 1.6 + 0.13 * ((5 * k) % 7))
            )
            wave = clip(KINDS[(k + number) % len(KINDS)], samples, rate)
            wave = wave * (0.5 + 0.04 * k) + 0.01 * (k % 4)
            if k % 2:
                other = clip(KINDS[(k + 2) % len(KINDS)], samples, rate)
                wave = np.stack([wave, 0.3 * other], axis=1)
            soundfile.write(side / f"{k:02d}.wav", np.clip(wave, -1.0, 1.0), rate, "PCM_16")
    return sides


def write_mono_clips(folder: Path, rate: int) -> tuple[Path, Path]:
    """The same with eight clips a side of one channel at one rate, for tools that round what they mix.

    They last 2 s at least, because fadtk cannot take clips of one frame.
    """
    sides = folder / "reference", folder / "evaluated"
    for number, side in enumerate(sides):
        side.mkdir(parents=True, exist_ok=True)
        for k in range(8):
            samples = round(rate * (2.0 + 0.13 * ((3 * k) % 5)))
            wave = clip(KINDS[(k + number) % len(KINDS)], samples, rate) * (0.5 + 0.04 * k)
            soundfile.write(side / f"{k:02d}.wav", np.clip(wave, -1.0, 1.0), rate, "PCM_16")
    return sides


CAPTIONS = (
    "A dog barks twice while rain falls on a tin roof.",
    "slow piano, then applause",
    'An engine starts, idles & stalls; someone says "again" and laughs 3 times!',
    "wind " * 40,
)
"""The last one is longer than CLAP can read."""
SECONDS = (0.8, 3.1, 11.3, 24.0)
MERGES = (
    "Ġ r",
    "Ġ a",
    "i n",
    "Ġr a",
    "Ġra in",
    "Ġa n",
    "Ġan d",
    "n d",
    "w i",
    "wi nd",
    "Ġ w",
    "i nd",
)
FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")


def write_captioned_clips(folder: Path) -> tuple[Path, Path, Path]:
    """A reference folder of one clip, four evaluated clips, two above 10 s, and their captions."""
    sides = folder / "reference", folder / "evaluated"
    table = folder / "captions.csv"
    for side in sides:
        side.mkdir(parents=True, exist_ok=True)
    for k, seconds in enumerate(SECONDS):
        rate = (44_100, 48_000, 22_050, 44_100)[k]
        wave = 0.5 * clip(KINDS[k], round(rate * seconds), rate)
        if k % 2:
            other = clip(KINDS[k + 1], len(wave), rate)
            wave = np.stack([wave, 0.3 * other], axis=1)
        for side in sides if k == 0 else sides[1:]:
            soundfile.write(side / f"{k:02d}.wav", np.clip(wave, -1.0, 1.0), rate, "PCM_16")
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("file", "caption"), *((f"{k:02d}.wav", c) for k, c in enumerate(CAPTIONS))]
        )
    return *sides, table


def write_tokenizer(folder: Path) -> Path:
    """A tokenizer in the format of RoBERTa's, with few words: vocab.json and merges.txt."""
    from tokenizers.pre_tokenizers import ByteLevel

    words = [*sorted(ByteLevel.alphabet()), *(pair.replace(" ", "") for pair in MERGES)]
    numbers = {word: number for number, word in enumerate([*FIRST_TOKENS, *words])}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({**numbers, "<mask>": 50_264}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES, ""]))
    return folder
