"""The measures of speech quality by name, and the ratings of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""All measures hear 16 kHz."""

Rater = Callable[["NDArray[np.float32]"], Sequence[float]]
"""From a mono waveform at 16 kHz to one number per column."""

MEASURES = {
    "dnsmos": ("dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl"),
    "distillmos": ("distillmos",),
}
"""The columns of each measure; all are opinion scores from 1 (bad) to 5 (excellent)."""


def parse_measures(text: str) -> tuple[str, ...]:
    """The measures of a comma-separated list.

    >>> parse_measures("dnsmos,distillmos")
    ('dnsmos', 'distillmos')
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in MEASURES:
            raise UsageError(f"Unknown quality {name!r}; choose from {', '.join(MEASURES)}.")
    return names


def rate_files(
    names: Sequence[str], files: Sequence[Path], device: torch.device
) -> dict[str, list[float]]:
    """The ratings of audio files, column by column, each in the order of the files."""
    import numpy as np

    from otadtk.audio.decode import AudioReader

    raters = {name: import_module(f"otadtk.quality.{name}").load(device) for name in names}
    columns: dict[str, list[float]] = {column: [] for name in names for column in MEASURES[name]}
    for file in files:
        try:
            waveform = np.concatenate(list(AudioReader(file, SAMPLE_RATE)))
        except AudioError as error:
            raise AudioError(f"{file} has no speech quality: {error}.") from error
        for name, rate in raters.items():
            for column, value in zip(MEASURES[name], rate(waveform), strict=True):
                columns[column].append(float(value))
    return columns
