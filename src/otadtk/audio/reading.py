"""How a file becomes one mono signal, where a tool does it otherwise than by soxr and the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from otadtk.errors import AudioError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

_ZEROS = 6
"""Zero crossings of torchaudio's sinc on each side."""
_ROLLOFF = 0.99
"""Where its low-pass filter ends, as a share of the lower Nyquist frequency."""


@dataclass(frozen=True)
class Reading:
    """The steps from the samples of a file to what an encoder gets, in this order."""

    channels: Literal["mean", "first"] = "mean"
    """What of several channels is heard."""
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
        steps = ["first channel" if self.channels == "first" else "mean of the channels"]
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
        mixed: Samples = block.mean(axis=1)
        return mixed

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
