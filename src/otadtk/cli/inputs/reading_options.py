"""Options that say what is heard of every clip: its length, loudness and channels."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from otadtk.audio.heard import CHANNELS, CROPS, LONGEST

if TYPE_CHECKING:
    from otadtk.metrics import EmbeddingOptions

GROUP = "what is heard of every clip (all by default)"


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """``--duration``, ``--crop``, ``--normalise`` and ``--channels``."""
    group = parser.add_argument_group(GROUP)
    group.add_argument("--duration", type=_seconds, metavar="S", help="S seconds")
    group.add_argument(
        "--crop",
        choices=CROPS,
        help="with --duration: the first seconds (start, default) or the middle ones (centre); the "
        "first, and shorter clips get zeros behind them (pad) or are repeated (loop)",
    )
    group.add_argument(
        "--normalise",
        type=_level,
        metavar="LUFS|peak",
        help="at this loudness, such as -23 (ITU-R BS.1770), or with the peak at full scale",
    )
    group.add_argument(
        "--channels",
        choices=tuple(CHANNELS),
        help="the mean of the channels (mix, default), one of them, or each as a clip of its own",
    )


def reading_options(options: argparse.Namespace) -> EmbeddingOptions:
    """What was chosen, as options of a metric."""
    names = ("duration", "crop", "normalise", "channels")
    given = {name: getattr(options, name, None) for name in names}
    return {name: value for name, value in given.items() if value is not None}  # type: ignore[return-value]


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number


def _level(text: str) -> float | str:
    if text == "peak":
        return text
    try:
        number = float(text)
    except ValueError:
        number = 1.0
    if not -70.0 <= number <= 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a loudness from -70 to 0 nor 'peak'")
    return number
