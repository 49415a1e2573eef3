"""Weights and clips from a seed, and two recordings: the same wherever this runs; needs numpy alone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 4
OTHER_WEIGHTS = {"openl3_env": "env "}
"""What is put before the names of tensors, so that a network of the same shapes has others."""
RECORDINGS = Path(__file__).parent / "recordings.npz"


def tensor(name: str, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Plausible weights for a tensor of that name: signals neither die nor explode behind them."""
    rng = np.random.default_rng([SEED, zlib.crc32(name.encode())])
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, dtype=np.int64)
    if name.endswith("relative_position_index"):  # of Swin windows: not free, but published
        side = math.isqrt(shape[0])
        row, column = np.divmod(np.arange(side * side), side)
        down, right = row[:, None] - row + side - 1, column[:, None] - column + side - 1
        return down * (2 * side - 1) + right
    if name.endswith(("running_var", "moving_variance", "weight_g", "grep_a")):
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    if name.endswith(("melW", "mel_basis")):
        return rng.uniform(0.0, 0.01, shape).astype(np.float32)
    normal = rng.standard_normal(shape, dtype=np.float32)
    if name.endswith("/kernel"):  # TensorFlow has the outputs last
        return normal * np.float32(math.sqrt(2.0 / math.prod(shape[:-1])))
    if len(shape) >= 2 and shape[0] > 1:
        gain = 2.0 if len(shape) > 2 else 1.0
        return normal * np.float32(math.sqrt(gain / math.prod(shape[1:])))
    if len(shape) == 1 and name.endswith((".weight", "/gamma")):
        return (1.0 + 0.1 * normal).astype(np.float32)
    return np.asarray(normal * np.float32(0.1))  # a 0-d array too stays an array


def state(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[np.generic]]:
    """Weights for all tensors of a checkpoint."""
    return {name: tensor(name, shape) for name, shape in shapes.items()}


def clip(kind: str, samples: int, sample_rate: int) -> NDArray[np.float32]:
    """A clip that anyone can make again.

    Synthesised: ``noise``, ``silence``, ``voice`` (a gliding harmonic tone) or ``clicks``. Or a
    recording, ``saw`` or ``bassoon``, over and over, taken as if it were at that rate.
    """
    if kind in ("saw", "bassoon"):
        with np.load(RECORDINGS) as recordings:
            return np.resize(recordings[kind], samples).astype(np.float32) / np.float32(32768.0)
    rng = np.random.default_rng([SEED, zlib.crc32(kind.encode()), samples])
    time = np.arange(samples) / sample_rate
    # a little noise everywhere but in silence: empty bands would show rounding errors only
    ground = 1e-3 * rng.standard_normal(samples)
    if kind == "silence":
        wave = np.zeros(samples)
    elif kind == "noise":
        wave = 0.2 * rng.standard_normal(samples)
    elif kind == "voice":
        phase = 2.0 * math.pi * np.cumsum(180.0 + 60.0 * np.sin(5.0 * time)) / sample_rate
        tones = sum(np.sin(k * phase) / k for k in range(1, 20))
        wave = 0.2 * tones * (0.6 + 0.4 * np.sin(11.0 * time)) + ground
    elif kind == "clicks":
        wave = ground
        wave[:: sample_rate // 7] += 0.9
    else:
        raise ValueError(kind)
    return wave.astype(np.float32)
