"""Log-mel statistics: mean and standard deviation of 64 bands over the clip; no weights needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from otadtk.encoders.blocks.frontend import log_mel_vggish
from otadtk.encoders.pooling import join
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

PATCH_FRAMES = 96
HOP_SAMPLES = 160
WINDOW_SAMPLES = 400
_LOG_OFFSET = 0.001


class LogMelEncoder(Encoder):
    """One frame per 0.96 s: the mean and standard deviation of each band within it."""

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """Band statistics of each patch, weighted by how many windows it holds."""
        return [_patch_statistics(segment.to(self.device)) for segment in segments]

    def pool(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        """Mean and standard deviation over the whole clip, by the law of total variance."""
        clip = join(encodings)
        frames, weights = clip.frames.cpu().double(), clip.weights.cpu().double()
        weights = weights / weights.sum()
        means, deviations = frames.chunk(2, dim=1)
        mean = weights @ means
        # Var = E[variance within a patch] + Var[mean of a patch]
        variance = weights @ (deviations.square() + (means - mean).square())
        return torch.cat([mean, variance.sqrt()]).float()


def _patch_statistics(waveform: torch.Tensor) -> Encoding:
    missing = WINDOW_SAMPLES - len(waveform)  # the last few samples of a long clip
    waveform = torch.nn.functional.pad(waveform, (0, max(0, missing)))
    patches = torch.split(log_mel_vggish(waveform, _LOG_OFFSET).double(), PATCH_FRAMES)
    means = torch.stack([p.mean(dim=0) for p in patches])
    deviations = torch.stack([p.std(dim=0, correction=0) for p in patches])
    counts = torch.tensor([len(p) for p in patches], device=waveform.device)
    return Encoding(torch.cat([means, deviations], dim=1).float(), counts.float())


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> LogMelEncoder:
    """The log-mel encoder; it has no weights."""
    return LogMelEncoder(spec, device)
