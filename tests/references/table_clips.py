"""Two folders of clips of equal names, on which protocols are compared with the tools they name."""

from __future__ import annotations

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


def write_clips(folder: Path, *, few: bool = False) -> tuple[Path, Path]:
    """A reference and an evaluated folder: other rates, two channels, an offset, short clips.

    ``few`` clips are three a side at full band, the first reference clip long: where a spectrogram in
    decibels has nothing but rounding, no two programs agree.
    """
    sides = folder / "reference", folder / "evaluated"
    for number, side in enumerate(sides):
        side.mkdir(parents=True, exist_ok=True)
        for k in range(FEW if few else CLIPS):
            rate = ((44_100, 48_000, 44_100) if few else (16_000, 22_050, 44_100))[k % 3]
            samples = round(
                rate * (LONG if few and k == number == 0 else 1.6 + 0.13 * ((5 * k) % 7))
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
