"""The measures of speech quality by name, and the ratings of clips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from otadtk.audio.inputs import Clip
    from otadtk.audio.reading import Reading

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


def rate_clips(
    names: Sequence[str],
    clips: Sequence[Clip],
    device: torch.device,
    reading: Reading | None = None,
) -> dict[str, list[float]]:
    """The ratings of clips, column by column, each in the order of the clips.

    Of ``reading`` the seconds, the loudness and the channels count that the user chose.
    """
    import numpy as np

    from otadtk.audio.decode import AudioReader
    from otadtk.audio.inputs import opened

    raters = {name: import_module(f"otadtk.quality.{name}").load(device) for name in names}
    columns: dict[str, list[float]] = {column: [] for name in names for column in MEASURES[name]}
    chosen = reading.chosen if reading is not None else None
    for clip in clips:
        try:
            with opened(clip) as path:
                reader = AudioReader(path, SAMPLE_RATE, chosen, clip.excerpt)
                waveform = np.concatenate(list(reader))
        except AudioError as error:
            raise AudioError(f"{clip.name} has no speech quality: {error}.") from error
        for name, rate in raters.items():
            for column, value in zip(MEASURES[name], rate(waveform), strict=True):
                columns[column].append(float(value))
    return columns
