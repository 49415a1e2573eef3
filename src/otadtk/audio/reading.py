"""How a file becomes one mono signal, if not whole, as loud as it is, by soxr and the mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from otadtk.errors import AudioError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

SILENCE_PEAK = 1e-4
"""A clip that never exceeds this is silent."""
_CHANNELS = {
    "mean": "mean of the channels",
    "first": "first channel",
    "second": "second channel",
    "both": "two channels",
    "each": "each channel as a clip",
}
_CROPS = {
    "start": "first {}",
    "centre": "middle {}",
    "pad": "first {}, shorter clips with zeros behind them",
    "loop": "first {}, shorter clips repeated",
}
_KAISER_BETA = 14.769656459379492
"""The window of resampy's best filter."""


@dataclass(frozen=True)
class Reading:
    """The steps from the samples of a file to what an encoder gets, in this order."""

    channels: Literal["mean", "first", "second", "both", "each"] = "mean"
    """What of several channels is heard; "both" are the first two, one after the other, and "each"
    makes a clip of every one."""
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
    peak_of: Literal["file", "resampled"] = "file"
    """Whether that is the peak before or after resampling."""
    through_hz: float | None = None
    """A rate to which soxr brings the clip first."""
    resampler: Literal["soxr", "sinc", "kaiser"] = "soxr"
    """soxr HQ, the windowed sinc of torchaudio, or that of resampy."""
    least_seconds: float = 0.0
    """Shorter clips get zeros behind them."""
    most_seconds: float | None = None
    """Longer clips are cut."""
    step_seconds: float | None = None
    """Windows start so often, overlap, and zeros fill the last one."""
    whole: bool = False
    """Whether the network gets each clip whole, however long or short it is."""

    @property
    def usual(self) -> bool:
        """Whether this is how otadtk reads files by itself."""
        return self == Reading()

    @property
    def chosen(self) -> Reading:
        """What users choose of it, without what one encoder or tool does besides."""
        channels = "mean" if self.channels == "both" else self.channels
        return Reading(channels, self.duration, self.crop, self.normalise)

    def describe(self) -> str:
        """The steps in words, for a fingerprint and for people."""
        steps = [_CHANNELS[self.channels]]
        if self.duration is not None:
            steps.append(_CROPS[self.crop].format(f"{self.duration:g} s"))
        if self.normalise is not None:
            peak_wanted = self.normalise == "peak"
            steps.append(
                "peak at full scale" if peak_wanted else f"loudness {self.normalise:g} LUFS"
            )
        steps += ["mean removed"] if self.remove_mean else []
        peak = [f"peak {self.peak_db:g} dB"] if self.peak_db is not None else []
        steps += peak if self.peak_of == "file" else []
        steps += [f"soxr HQ to {self.through_hz:g} Hz"] if self.through_hz is not None else []
        names = {"soxr": "soxr HQ", "sinc": "sinc resampling", "kaiser": "Kaiser resampling"}
        steps.append(names[self.resampler])
        steps += peak if self.peak_of == "resampled" else []
        steps += [f"at least {self.least_seconds:g} s"] if self.least_seconds else []
        steps += [f"at most {self.most_seconds:g} s"] if self.most_seconds is not None else []
        steps += [f"windows every {self.step_seconds:g} s"] if self.step_seconds else []
        steps += ["whole clips"] if self.whole else []
        return ", ".join(steps)

    def mono(self, block: Samples) -> Samples:
        """What is heard of frames × channels: one channel, or two as columns."""
        if self.channels == "both":
            return block[:, :2] if block.shape[1] > 1 else block.repeat(2, axis=1)
        if block.shape[1] == 1 or self.channels == "first":
            return block[:, 0]
        if self.channels == "second":
            return block[:, 1]
        mixed: Samples = block.mean(axis=1)
        return mixed

    def at_rate(self, clip: Samples, rate: int, wanted: int) -> Samples:
        """A whole clip as the encoder gets it."""
        import numpy as np

        if self.remove_mean:
            clip = clip - clip.mean(axis=0)
        if self.peak_of == "file":
            clip = self._at_peak(clip)
        columns = clip.T if clip.ndim == 2 else clip[None]
        clip = np.stack([self._resampled(column, rate, wanted) for column in columns])
        if self.peak_of == "resampled":
            clip = self._at_peak(clip)
        if self.most_seconds is not None:
            clip = clip[:, : int(wanted * self.most_seconds)]
        length = max(clip.shape[1], round(self.least_seconds * wanted))
        if self.step_seconds is not None:
            step = round(self.step_seconds * wanted)
            length = -(-length // step) * step
        padded: Samples = np.pad(clip, ((0, 0), (0, length - clip.shape[1])))
        return padded.reshape(-1)

    def _at_peak(self, clip: Samples) -> Samples:
        import numpy as np

        if self.peak_db is None:
            return clip
        peak = float(np.abs(clip).max())
        if peak == 0.0:
            raise AudioError("it is silent, and its peak cannot be brought to a level")
        return clip * np.float32(10.0 ** (self.peak_db / 20.0) / peak)

    def _resampled(self, clip: Samples, rate: int, wanted: int) -> Samples:
        if self.through_hz is not None and rate != self.through_hz:
            clip, rate = _soxr(clip, rate, round(self.through_hz)), round(self.through_hz)
        if rate == wanted:
            return clip
        resample = {"soxr": _soxr, "sinc": sinc, "kaiser": kaiser}[self.resampler]
        return resample(clip, rate, wanted)


def _soxr(clip: Samples, rate: int, wanted: int) -> Samples:
    import soxr

    resampled: Samples = soxr.resample(clip, rate, wanted, quality="HQ")
    return resampled


def sinc(clip: Samples, rate: int, wanted: int) -> Samples:
    """A clip at another rate by a sinc under a Hann window, as torchaudio's default does it."""
    import torch

    zeros, rolloff = 6, 0.99

    def impulse(distance: torch.Tensor) -> torch.Tensor:
        crossings = (distance * rolloff).clamp(-zeros, zeros)
        window = torch.cos(crossings * (math.pi / (2 * zeros))).square()
        return torch.sinc(crossings) * window * rolloff

    return _filtered(clip, rate, wanted, impulse, math.ceil(zeros / rolloff))


def kaiser(clip: Samples, rate: int, wanted: int) -> Samples:
    """A clip at a higher rate by a sinc under a Kaiser window, as resampy 0.2's best filter does it.

    resampy has a table of the filter and reads between its entries by straight lines. To a lower rate
    it also rounds its steps through the table, which this does not follow.
    """
    import torch

    zeros, rolloff, entries = 64, 0.9475937167399596, 512
    places = torch.arange(zeros * entries + 1, dtype=torch.float64) / entries
    inside = (1.0 - (places / zeros).square()).clamp_min(0.0).sqrt()
    whole = torch.special.i0(torch.tensor(_KAISER_BETA, dtype=torch.float64))
    window = torch.special.i0(_KAISER_BETA * inside) / whole
    table = torch.sinc(places * rolloff) * window * rolloff
    slopes = torch.diff(table, append=table.new_zeros(1))

    def impulse(distance: torch.Tensor) -> torch.Tensor:
        place = (distance.abs() * entries).clamp_max(zeros * entries)
        entry = place.long()
        found: torch.Tensor = (table[entry] + (place - entry) * slopes[entry]) * (
            distance.abs() < zeros
        )
        return found

    # it ends where the last whole sample does
    return _filtered(clip, rate, wanted, impulse, zeros)[: int(len(clip) * (wanted / rate))]


def _filtered(
    clip: Samples,
    rate: int,
    wanted: int,
    impulse: Callable[[torch.Tensor], torch.Tensor],
    reach: int,
) -> Samples:
    """A clip at another rate; ``impulse`` is the filter over distances up to ``reach``.

    Distances are counted in samples of the lower of both rates.
    """
    import torch

    common = math.gcd(rate, wanted)
    before, after = rate // common, wanted // common
    lower = min(before, after)
    width = math.ceil(reach * before / lower)
    # one filter for each of the ``after`` places that an output sample can have between inputs
    inputs = torch.arange(-width, width + before, dtype=torch.float64) / before
    outputs = torch.arange(after, dtype=torch.float64) / after
    distance = (inputs[None, :] - outputs[:, None]) * lower
    filters = (impulse(distance) * (lower / before)).float()
    padded = torch.nn.functional.pad(torch.from_numpy(clip.copy()), (width, width + before))
    found = torch.nn.functional.conv1d(padded[None, None], filters[:, None], stride=before)
    length = math.ceil(after * len(clip) / before)
    resampled: Samples = found[0].T.reshape(-1)[:length].numpy()
    return resampled
