"""Log-mel statistics are those of the clip."""

from __future__ import annotations

import numpy as np
import torch

from otadtk import get_encoder
from otadtk.audio.synthesis import synthesise


def test_logmel_statistics_are_those_of_the_clip() -> None:
    from otadtk.encoders.blocks.frontend import log_mel_vggish

    clip = synthesise("speech", 0, 3.0)
    vector = get_encoder("logmel", device="cpu").encode(clip, 16_000)
    frames = log_mel_vggish(torch.from_numpy(clip), 0.001)
    expected = torch.cat([frames.mean(dim=0), frames.std(dim=0, correction=0)])
    np.testing.assert_allclose(vector, expected.numpy(), rtol=1e-4, atol=1e-5)
