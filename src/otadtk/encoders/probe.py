"""What a custom encoder computes, as a hash: its vector of a fixed test signal.

The source file of a class does not show which weights it loads. Its vector of one fixed signal does:
other weights give another vector, so embeddings of the old ones are not used again.
"""

from __future__ import annotations

import hashlib
import logging

import numpy as np
import torch

from otadtk.encoders.spec import Encoder
from otadtk.errors import AudioError, UsageError

logger = logging.getLogger(__name__)

_SECONDS = (2, 12)
"""Lengths of the test signal: the second is tried if the encoder needs a longer clip."""


def probe(encoder: Encoder) -> str:
    """A hash of the bits of the encoder's vector of the test signal, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the workers: the number of threads changes the last bits
    try:
        first, second = _vector(encoder), _vector(encoder)
    finally:
        torch.set_num_threads(threads)
    if first != second:
        logger.warning(
            "the encoder %r gives different vectors for the same sound, so none is reused from the "
            "cache (is its network in evaluation mode?)",
            encoder.spec.name,
        )
    return hashlib.sha256(first).hexdigest()


def _vector(encoder: Encoder) -> bytes:
    reason = ""
    for seconds in _SECONDS:
        signal = torch.from_numpy(_signal(seconds * encoder.spec.sample_rate))
        try:
            return encoder.encode_segments([signal])[0].frames.cpu().numpy().tobytes()
        except AudioError as error:
            reason = reason or str(error)
    raise UsageError(
        f"On a test signal of {_SECONDS[0]} s {reason}. Mend the class: it must encode any clip."
    )


def _signal(samples: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Noise with a square wave, from integers: the same bits on every machine."""
    noise = np.random.RandomState(23).randint(-4096, 4097, size=samples)
    wave = np.where(np.arange(samples) % 64 < 32, 4096, -4096)
    found: np.ndarray[tuple[int], np.dtype[np.float32]] = ((noise + wave) / 32768).astype(
        np.float32
    )
    return found
