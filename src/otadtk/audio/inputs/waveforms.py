"""Waveforms in memory as clips: each is a WAV file of 32-bit floats that was never written."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.audio.inputs.clip import Clip
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    Waveforms = Sequence[NDArray[np.floating] | Tensor] | NDArray[np.floating] | Tensor
    """Clips of ``(samples,)`` or ``(channels, samples)``."""

_FOLDER = Path("waveforms")


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes themselves."""

    content: bytes

    def read(self, holder: Path) -> bytes:
        """The bytes, wherever they are said to be."""
        return self.content


def waveform_clips(waveforms: Waveforms, sample_rate: int) -> list[Clip]:
    """The clips of waveforms, ``(samples,)`` or ``(channels, samples)`` each, at one sample rate.

    The bytes depend on the samples and the rate only, so the store knows a waveform again.
    """
    from scipy.io import wavfile

    if isinstance(sample_rate, bool) or not 1 <= sample_rate < 1 << 31:
        raise UsageError(f"sample_rate must be a number of samples a second, not {sample_rate!r}.")
    if len(waveforms) == 0:
        raise AudioError("There are no waveforms.")
    width = len(str(len(waveforms) - 1))
    clips = []
    for number, waveform in enumerate(waveforms):
        samples = _samples(waveform, number)
        file = io.BytesIO()
        wavfile.write(file, int(sample_rate), samples)
        name = _FOLDER / f"{number:0{width}d}.wav"
        clips.append(Clip(name, name, Content(file.getvalue())))
    return clips


def _samples(waveform: Any, number: int) -> NDArray[np.float32]:
    """Frames × channels as float32."""
    import numpy as np

    if hasattr(waveform, "detach"):
        waveform = waveform.detach().cpu()
    try:
        samples = np.asarray(waveform, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(f"Waveform {number} is no array of samples: {error}.") from error
    if samples.ndim not in (1, 2) or (samples.ndim == 2 and len(samples) > samples.shape[1]):
        raise UsageError(
            f"Waveform {number} has the shape {samples.shape}, not (samples,) or (channels, samples)."
        )
    return samples.T if samples.ndim == 2 else samples
