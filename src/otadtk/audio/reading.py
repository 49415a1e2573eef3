"""How a file becomes one mono signal, if not whole, as loud as it is, by soxr and the mean."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

_ZEROS = 6
"""Zero crossings of torchaudio's sinc on each side."""
_ROLLOFF = 0.99
"""Where its low-pass filter ends, as a share of the lower Nyquist frequency."""
SILENCE_PEAK = 1e-4
"""A clip that never exceeds this is silent."""


@dataclass(frozen=True)
class Reading:
    """The steps from the samples of a file to what an encoder gets, in this order."""

    channels: Literal["mean", "first", "second", "each"] = "mean"
    """What of several channels is heard; "each" makes a clip of every one."""
    duration: float | None = None
    """The seconds that are heard of a clip."""
    crop: Literal["start", "centre", "pad", "loop"] = "start"
    """Which seconds: the first or the middle ones; or the first, and a shorter clip gets zeros behind
    it ("pad") or is repeated ("loop")."""
    normalise: float | Literal["peak"] | None = None
    """The loudness in LUFS (ITU-R BS.1770) that every clip is brought to, or "peak" for full scale."""
    remove_mean: bool = False
    """Whether the mean of the clip is subtracted."""
    peak_db: float | None = None
    """The peak that every clip is brought to, in dB relative to full scale."""
    resampler: Literal["soxr", "sinc"] = "soxr"
    """soxr HQ, or the windowed sinc of torchaudio."""
    least_seconds: float = 0.0
    """Shorter clips get zeros behind them."""
    most_seconds: float | None = None
    """Longer clips are cut."""
    whole: bool = False
    """Whether the network gets each clip whole, however long or short it is."""

    @property
    def usual(self) -> bool:
        """Whether this is how otadtk reads files by itself."""
        return self == Reading()

    def describe(self) -> str:
        """The steps in words, for a fingerprint and for people."""
        steps = [_CHANNELS[self.channels]]
        if self.duration is not None:
            steps.append(_CROPS[self.crop].format(f"{self.duration:g} s"))
        if self.normalise is not None:
            peak = self.normalise == "peak"
            steps.append("peak at full scale" if peak else f"loudness {self.normalise:g} LUFS")
        steps += ["mean removed"] if self.remove_mean else []
        steps += [f"peak {self.peak_db:g} dB"] if self.peak_db is not None else []
        steps.append("sinc resampling" if self.resampler == "sinc" else "soxr HQ")
        steps += [f"at least {self.least_seconds:g} s"] if self.least_seconds else []
        steps += [f"at most {self.most_seconds:g} s"] if self.most_seconds is not None else []
        steps += ["whole clips"] if self.whole else []
        return ", ".join(steps)

    def mono(self, block: Samples) -> Samples:
        """One channel of frames × channels."""
        if block.shape[1] == 1 or self.channels == "first":
            return block[:, 0]
        if self.channels == "second":
            return block[:, 1]
        mixed: Samples = block.mean(axis=1)
        return mixed

    def fitted(self, clip: Samples, rate: int) -> Samples:
        """The seconds that are heard of frames × channels."""
        import numpy as np

        if self.duration is None:
            return clip
        wanted = max(1, round(self.duration * rate))
        missing = wanted - len(clip)
        if missing > 0 and self.crop == "pad":
            return np.pad(clip, ((0, missing), (0, 0)))
        if missing > 0 and self.crop == "loop":
            return np.resize(clip, (wanted, clip.shape[1]))
        first = max(0, -missing) // 2 if self.crop == "centre" else 0
        return clip[first : first + wanted]

    def gain(self, clip: Samples, rate: int) -> float:
        """By how much a mono clip is made louder or softer; a silent one stays as it is."""
        import numpy as np

        peak = float(np.abs(clip).max(initial=0.0))
        if self.normalise is None or peak < SILENCE_PEAK:
            return 1.0
        if self.normalise == "peak":
            return 1.0 / peak
        loudness = integrated_loudness(clip, rate)
        return float(10.0 ** ((self.normalise - loudness) / 20.0)) if loudness > -math.inf else 1.0

    def at_rate(self, clip: Samples, rate: int, wanted: int) -> Samples:
        """A whole mono clip as the encoder gets it."""
        import numpy as np

        if self.remove_mean:
            clip = clip - clip.mean()
        if self.peak_db is not None:
            peak = float(np.abs(clip).max())
            if peak == 0.0:
                raise AudioError("it is silent, and its peak cannot be brought to a level")
            clip = clip * np.float32(10.0 ** (self.peak_db / 20.0) / peak)
        if rate != wanted:
            clip = (
                _soxr(clip, rate, wanted) if self.resampler == "soxr" else sinc(clip, rate, wanted)
            )
        if self.most_seconds is not None:
            clip = clip[: int(wanted * self.most_seconds)]
        missing = round(self.least_seconds * wanted) - len(clip)
        return np.pad(clip, (0, missing)) if missing > 0 else clip


_CHANNELS = {
    "mean": "mean of the channels",
    "first": "first channel",
    "second": "second channel",
    "each": "each channel as a clip",
}
_CROPS = {
    "start": "first {}",
    "centre": "middle {}",
    "pad": "first {}, shorter clips with zeros behind them",
    "loop": "first {}, shorter clips repeated",
}
HEARD: dict[str, Literal["mean", "first", "second", "each"]] = {
    "mix": "mean",
    "left": "first",
    "right": "second",
    "each": "each",
}
"""The channels by the names that users give."""
CROPS = tuple(_CROPS)
LONGEST = 86_400.0
"""More seconds of a clip than those of a day are a slip."""
_BLOCK_SECONDS = 0.4
"""The block over which BS.1770 measures; a shorter clip is measured repeated."""
_loudness_lock = threading.Lock()


def integrated_loudness(clip: Samples, rate: int) -> float:
    """The loudness of a mono clip in LUFS by ITU-R BS.1770-4; −∞ below its gate of −70 LUFS."""
    import numpy as np
    from pyloudnorm import Meter

    least = math.ceil(_BLOCK_SECONDS * rate)
    heard = np.resize(clip, least) if len(clip) < least else clip
    with _loudness_lock:  # it silences warnings for all threads while it measures
        found = float(Meter(rate).integrated_loudness(heard.astype(np.float64)))
    return -math.inf if math.isnan(found) else found


def _soxr(clip: Samples, rate: int, wanted: int) -> Samples:
    import soxr

    resampled: Samples = soxr.resample(clip, rate, wanted, quality="HQ")
    return resampled


def sinc(clip: Samples, rate: int, wanted: int) -> Samples:
    """A clip at another rate by a sinc under a Hann window, as torchaudio's default does it."""
    import torch

    common = math.gcd(rate, wanted)
    before, after = rate // common, wanted // common
    cutoff = _ROLLOFF * min(before, after)
    reach = math.ceil(_ZEROS * before / cutoff)
    # one filter for each of the ``after`` places that an output sample can have between inputs
    inputs = torch.arange(-reach, reach + before, dtype=torch.float64) / before
    outputs = torch.arange(after, dtype=torch.float64) / after
    crossings = ((inputs[None, :] - outputs[:, None]) * cutoff).clamp(-_ZEROS, _ZEROS)
    window = torch.cos(crossings * (math.pi / (2 * _ZEROS))).square()
    filters = (torch.sinc(crossings) * window * (cutoff / before)).float()
    padded = torch.nn.functional.pad(torch.from_numpy(clip.copy()), (reach, reach + before))
    found = torch.nn.functional.conv1d(padded[None, None], filters[:, None], stride=before)
    length = math.ceil(after * len(clip) / before)
    resampled: Samples = found[0].T.reshape(-1)[:length].numpy()
    return resampled


def chosen_reading(
    duration: float | None = None,
    crop: str | None = None,
    normalise: float | str | None = None,
    channels: str | None = None,
) -> Reading:
    """The reading of these choices; a UsageError for those that make no sense."""
    if channels not in (None, *HEARD):
        raise UsageError(f"channels must be one of {', '.join(HEARD)}, not {channels!r}.")
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
        channels=HEARD[channels or "mix"],
        duration=duration,
        crop=crop or "start",  # type: ignore[arg-type]
        normalise=normalise,  # type: ignore[arg-type]
    )
