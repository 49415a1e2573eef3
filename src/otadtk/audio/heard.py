"""What is heard of a clip: its seconds and its loudness; and the choices that users have."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Literal

from otadtk.audio.reading import SILENCE_PEAK, Reading
from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.audio.reading import Samples

CHANNELS: dict[str, Literal["mean", "first", "second", "each"]] = {
    "mix": "mean",
    "left": "first",
    "right": "second",
    "each": "each",
}
"""The channels by the names that users give."""
CROPS = ("start", "centre", "pad", "loop")
LONGEST = 86_400.0
"""More seconds of a clip than those of a day are a slip."""
_BLOCK_SECONDS = 0.4
"""The block over which BS.1770 measures; a shorter clip is measured repeated."""
_lock = threading.Lock()


def chosen_reading(
    duration: float | None = None,
    crop: str | None = None,
    normalise: float | str | None = None,
    channels: str | None = None,
) -> Reading:
    """The reading of these choices; a UsageError for those that make no sense."""
    if channels not in (None, *CHANNELS):
        raise UsageError(f"channels must be one of {', '.join(CHANNELS)}, not {channels!r}.")
    if crop not in (None, *CROPS):
        raise UsageError(f"crop must be one of {', '.join(CROPS)}, not {crop!r}.")
    if crop is not None and duration is None:
        raise UsageError("crop says which seconds are heard, and duration how many: give both.")
    if duration is not None and not 0.0 < duration <= LONGEST:
        raise UsageError(
            f"duration must be seconds above 0, {LONGEST:g} at most, not {duration!r}."
        )
    if isinstance(normalise, str) and normalise != "peak":
        raise UsageError(f"normalise must be a loudness in LUFS or 'peak', not {normalise!r}.")
    if isinstance(normalise, (int, float)) and not -70.0 <= normalise <= 0.0:
        raise UsageError(f"normalise must be between -70 and 0 LUFS, not {normalise:g}.")
    return Reading(
        channels=CHANNELS[channels or "mix"],
        duration=duration,
        crop=crop or "start",  # type: ignore[arg-type]
        normalise=normalise,  # type: ignore[arg-type]
    )


def fitted(clip: Samples, rate: int, reading: Reading) -> Samples:
    """The seconds that are heard of frames × channels."""
    import numpy as np

    if reading.duration is None:
        return clip
    wanted = max(1, round(reading.duration * rate))
    missing = wanted - len(clip)
    if missing > 0 and reading.crop == "pad":
        return np.pad(clip, ((0, missing), (0, 0)))
    if missing > 0 and reading.crop == "loop":
        return np.resize(clip, (wanted, clip.shape[1]))
    first = max(0, -missing) // 2 if reading.crop == "centre" else 0
    return clip[first : first + wanted]


def gain(clip: Samples, rate: int, reading: Reading) -> float:
    """By how much a clip is made louder or softer; a silent one stays as it is."""
    import numpy as np

    peak = float(np.abs(clip).max(initial=0.0))
    if reading.normalise is None or peak < SILENCE_PEAK:
        return 1.0
    if reading.normalise == "peak":
        return 1.0 / peak
    loudness = integrated_loudness(clip, rate)
    return float(10.0 ** ((reading.normalise - loudness) / 20.0)) if loudness > -math.inf else 1.0


def integrated_loudness(clip: Samples, rate: int) -> float:
    """The loudness of a clip in LUFS by ITU-R BS.1770-4; −∞ below its gate of −70 LUFS."""
    import numpy as np
    from pyloudnorm import Meter

    least = math.ceil(_BLOCK_SECONDS * rate)
    heard = np.resize(clip, (least, *clip.shape[1:])) if len(clip) < least else clip
    with _lock:  # it silences warnings for all threads while it measures
        found = float(Meter(rate).integrated_loudness(heard.astype(np.float64)))
    return -math.inf if math.isnan(found) else found
