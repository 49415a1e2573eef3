"""Front ends that turn waveforms into log-mel frames, shared by the encoder families."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
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
    spectrum = _magnitudes(torch.fft.rfft(frame(waveform, 400, 160) * window, n=512))
    filters = htk_mel_matrix(64, 257, 16000, 125.0, 7500.0).to(waveform.device)
    return torch.log(spectrum @ filters + offset)


def _magnitudes(spectrum: torch.Tensor) -> torch.Tensor:
    """The absolute values; on a CPU those of numpy, which take a sixth of the time."""
    if spectrum.is_cpu and not spectrum.requires_grad:
        return torch.from_numpy(np.abs(spectrum.numpy()))
    return spectrum.abs()


def pad_to_whole_windows(waveform: torch.Tensor, window: int, hop: int) -> torch.Tensor:
    """The waveform with zeros behind it until windows of that length and hop cover it exactly."""
    beyond = max(0, waveform.shape[-1] - window)
    length = window + hop * math.ceil(beyond / hop)
    return torch.nn.functional.pad(waveform, (0, length - waveform.shape[-1]))


@lru_cache(maxsize=8)
def slaney_mel_matrix(
    bands: int, bins: int, sample_rate: int, low_hz: float, high_hz: float
) -> torch.Tensor:
    """Triangular mel filters ``(bins, bands)`` of unit area, triangles drawn on the hertz axis.

    Slaney's scale, librosa's default: 3 mel per 200 Hz below 1 kHz, logarithmic above
    (27 mel per factor 6.4).
    """
    knee_hz, knee_mel, octave = 1000.0, 15.0, math.log(6.4) / 27.0

    def mel(hertz: float) -> float:
        if hertz < knee_hz:
            return 3.0 * hertz / 200.0
        return knee_mel + math.log(hertz / knee_hz) / octave

    mels = torch.linspace(mel(low_hz), mel(high_hz), bands + 2, dtype=torch.float64, device="cpu")
    above = knee_hz * torch.exp(octave * (mels - knee_mel))
    edges = torch.where(mels < knee_mel, mels * 200.0 / 3.0, above)
    area = 2.0 / (edges[2:] - edges[:-2])
    return (_triangles(edges, bins, sample_rate) * area).float()


@lru_cache(maxsize=8)
def htk_mel_triangles(
    bands: int, bins: int, sample_rate: int, low_hz: float, high_hz: float
) -> torch.Tensor:
    """Triangular mel filters ``(bins, bands)`` of height 1 on HTK's scale, drawn on the hertz axis.

    They are the default of torchaudio.
    """
    low, high = (1127.0 * math.log1p(hertz / 700.0) for hertz in (low_hz, high_hz))
    mels = torch.linspace(low, high, bands + 2, dtype=torch.float64, device="cpu")
    return _triangles(700.0 * torch.expm1(mels / 1127.0), bins, sample_rate).float()


def _triangles(edges: torch.Tensor, bins: int, sample_rate: int) -> torch.Tensor:
    """Triangles ``(bins, bands)`` of height 1 over hertz, each from an edge to the next but one."""
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    hertz = torch.linspace(0.0, sample_rate / 2.0, bins, dtype=torch.float64, device="cpu")[:, None]
    rising = (hertz - left) / (centre - left)
    falling = (right - hertz) / (right - centre)
    return torch.minimum(rising, falling).clamp_min(0.0)


def power_spectrogram(waveforms: torch.Tensor, fft_length: int, hop: int) -> torch.Tensor:
    """Power spectra ``(n, frames, bins)`` of waveforms ``(n, samples)``, as librosa takes them.

    Periodic Hann window, frames centred on multiples of the hop, the ends mirrored.
    """
    window = torch.hann_window(fft_length, periodic=True, device=waveforms.device)
    spectrum = torch.stft(
        waveforms,
        fft_length,
        hop,
        window=window,
        center=True,
        pad_mode="reflect",
        return_complex=True,
    )
    return torch.view_as_real(spectrum).square().sum(dim=-1).transpose(1, 2)


def decibels(power: torch.Tensor, floor: float = 1e-10) -> torch.Tensor:
    """10 · log10 of a power, which counts as ``floor`` where it is less."""
    return 10.0 * torch.log10(power.clamp_min(floor))


KALDI_WINDOW, KALDI_HOP = 400, 160
"""25 ms every 10 ms at 16 kHz."""


def kaldi_filter_bank(
    waveforms: torch.Tensor, window: Literal["hann", "povey"], bands: int = 128
) -> torch.Tensor:
    """Log filter-bank energies ``(n, frames, bands)`` of 16 kHz waveforms ``(n, samples)``, as Kaldi's.

    Per frame of 25 ms: its mean removed, pre-emphasis 0.97, a symmetric window (Povey's is the Hann
    window to the power 0.85), 512-point power spectrum, HTK mel bands from 20 to 8000 Hz, natural
    logarithm. Frames that would reach over the end are left out; there is no dither.
    """
    frames = frame(waveforms, KALDI_WINDOW, KALDI_HOP)
    frames = frames - frames.mean(dim=-1, keepdim=True)
    # the first sample of a frame has no predecessor and stands in for it
    before = torch.cat([frames[..., :1], frames[..., :-1]], dim=-1)
    shape = torch.hann_window(KALDI_WINDOW, periodic=False, device=waveforms.device)
    if window == "povey":
        shape = shape.pow(0.85)
    spectrum = torch.fft.rfft((frames - 0.97 * before) * shape, n=512)
    power = torch.view_as_real(spectrum).square().sum(dim=-1)
    filters = htk_mel_matrix(bands, 257, 16_000, 20.0, 8000.0).to(waveforms.device)
    return torch.log((power @ filters).clamp_min(torch.finfo(torch.float32).eps))


def kaldi_frames(samples: int) -> int:
    """How many frames ``kaldi_filter_bank`` gives for so many samples."""
    return max(0, 1 + (samples - KALDI_WINDOW) // KALDI_HOP)
