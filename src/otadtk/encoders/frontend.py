"""Front ends that turn waveforms into log-mel frames, shared by the encoder families."""

from __future__ import annotations

import math
from functools import lru_cache

import torch


def frame(waveform: torch.Tensor, length: int, hop: int) -> torch.Tensor:
    """Overlapping frames ``(n, length)`` of a waveform; a remainder shorter than a frame is left out."""
    return waveform.unfold(-1, length, hop)


@lru_cache(maxsize=8)
def htk_mel_matrix(
    bands: int, bins: int, sample_rate: int, low_hz: float, high_hz: float
) -> torch.Tensor:
    """Triangular HTK mel filters ``(bins, bands)``, triangles drawn on the mel axis, DC left out.

    mel(f) = 1127 · ln(1 + f/700).
    """

    def mel(hertz: torch.Tensor) -> torch.Tensor:
        return 1127.0 * torch.log1p(hertz / 700.0)

    bin_mels = mel(torch.linspace(0.0, sample_rate / 2.0, bins, dtype=torch.float64))[:, None]
    low, high = mel(torch.tensor([low_hz, high_hz], dtype=torch.float64)).tolist()
    edges = torch.linspace(low, high, bands + 2, dtype=torch.float64)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    rising = (bin_mels - left) / (centre - left)
    falling = (right - bin_mels) / (right - centre)
    filters = torch.minimum(rising, falling).clamp_min(0.0)
    filters[0] = 0.0
    return filters.float()


def log_mel_vggish(waveform: torch.Tensor, offset: float) -> torch.Tensor:
    """Log-mel frames ``(n, 64)`` of a 16 kHz waveform, as AudioSet's VGGish and YAMNet see it.

    Periodic Hann window of 25 ms, hop 10 ms, 512-point magnitude spectrum, 64 HTK bands between
    125 and 7500 Hz, log(mel + offset).
    """
    window = torch.hann_window(400, periodic=True, dtype=waveform.dtype, device=waveform.device)
    spectrum = torch.fft.rfft(frame(waveform, 400, 160) * window, n=512).abs()
    filters = htk_mel_matrix(64, 257, 16000, 125.0, 7500.0).to(waveform.device)
    return torch.log(spectrum @ filters + offset)


def pad_to_whole_windows(waveform: torch.Tensor, window: int, hop: int) -> torch.Tensor:
    """The waveform with zeros behind it until windows of that length and hop cover it exactly."""
    beyond = max(0, waveform.shape[-1] - window)
    length = window + hop * math.ceil(beyond / hop)
    return torch.nn.functional.pad(waveform, (0, length - waveform.shape[-1]))
