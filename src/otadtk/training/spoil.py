"""Makes versions of a waveform: clean ones, and ones with built-in faults or with faults of the user."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.faults import Chain, apply_fault
from otadtk.audio.perturb import PERTURBATIONS, Perturbation, perturb
from otadtk.errors import UsageError
from otadtk.training.clean import excerpt

CLEAN = "clean"
EXCERPT = "excerpt"
"""A part of a clip with soft ends at another level: as clean as the clip."""
CHAINED = "fault:"
"""Before the names of faults of ``otadtk.audio.faults``, some of which ``perturb`` has too."""
OwnFaults = Mapping[str, Perturbation]
"""Faults of the user by name: functions of (waveform, rate, generator, strength from 0 to 1)."""


def make_version(
    waveform: NDArray[np.float32], rate: int, kind: str, strength: float
) -> NDArray[np.float32]:
    """A version of a waveform, rounded to 16 bits; random faults are seeded by the arguments."""
    if kind == EXCERPT:
        waveform = excerpt(waveform, rate, np.random.default_rng(zlib.crc32(waveform.tobytes())))
    elif kind != CLEAN:
        seed = zlib.crc32(f"{kind} {strength!r} {len(waveform)}".encode())
        waveform = perturb(kind, waveform, rate, np.random.default_rng(seed), strength)
    return _sixteen_bits(waveform)


def check_own_faults(own: OwnFaults) -> None:
    """A UsageError for a fault that is no function, or has the name of a known kind."""
    for name, fault in own.items():
        if not callable(fault):
            raise UsageError(f"The fault {name!r} must be a function, not {type(fault).__name__}.")
        if name in (CLEAN, EXCERPT, *PERTURBATIONS) or name.startswith(CHAINED):
            raise UsageError(f"{name!r} is a known kind of fault: give yours another name.")


def apply_own_fault(
    waveform: NDArray[np.float32], rate: int, name: str, fault: Perturbation, strength: float
) -> NDArray[np.float32]:
    """The waveform with a fault of the user, rounded to 16 bits."""
    seed = zlib.crc32(waveform.tobytes(), zlib.crc32(name.encode()))
    spoilt = np.asarray(
        fault(waveform.copy(), rate, np.random.default_rng(seed), strength), np.float32
    )
    if spoilt.ndim != 1 or len(spoilt) == 0 or not np.isfinite(spoilt).all():
        raise UsageError(
            f"The fault {name!r} must return a mono waveform of finite samples; it returned "
            f"an array of shape {spoilt.shape}."
        )
    return _sixteen_bits(spoilt)


def _sixteen_bits(waveform: NDArray[np.float32]) -> NDArray[np.float32]:
    rounded = np.round(np.clip(waveform, -1.0, 1.0) * 32767.0) / 32767.0
    return rounded.astype(np.float32)


def make_chain(waveform: NDArray[np.float32], rate: int, chain: Chain) -> NDArray[np.float32]:
    """A waveform with a chain of faults, rounded to 16 bits.

    The side conditions of a fault depend on the clip and the kind: they are the same at any strength.
    """
    for step in chain:
        seed = zlib.crc32(waveform.tobytes(), zlib.crc32(step.kind.encode()))
        rng = np.random.default_rng(seed)
        waveform = apply_fault(step.kind, waveform, rate, rng, step.strength)
    return _sixteen_bits(waveform)
