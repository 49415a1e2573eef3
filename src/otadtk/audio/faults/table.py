"""Every kind of fault by name, and the table that gives a strength from 0 to 1 one meaning."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.faults.fault import Fault
from otadtk.audio.faults.kinds import (
    additive,
    codecs,
    denoising,
    level,
    quantisation,
    rate,
    reconstruction,
    room,
    stretching,
    timing,
)
from otadtk.errors import UsageError

Waveform = NDArray[np.float32]
_MODULES = (
    reconstruction,
    codecs,
    stretching,
    quantisation,
    denoising,
    rate,
    room,
    timing,
    additive,
    level,
)
ALL_FAULTS: dict[str, Fault] = {
    name: fault for module in _MODULES for name, fault in module.KINDS.kinds.items()
}
"""Every kind, whether it can run here or not."""
FAULTS: dict[str, Fault] = {name: fault for name, fault in ALL_FAULTS.items() if not fault.missing}
"""Every kind that can run here."""
UNAVAILABLE: dict[str, str] = {
    name: fault.missing for name, fault in ALL_FAULTS.items() if fault.missing
}
"""The kinds that cannot run here, with what has to be installed."""
FAMILIES: dict[str, tuple[str, ...]] = {
    module.KINDS.name: tuple(name for name in module.KINDS.kinds if name in FAULTS)
    for module in _MODULES
}
"""The kinds of every family that can run here."""
CALIBRATION = Path(__file__).parent / "calibration.json"
"""Written by ``benchmarks/calibrate_faults.py``."""


@dataclass(frozen=True)
class Placement:
    """Where a kind lies on the common scale."""

    travel: tuple[float, ...]
    """The share of the way from mild to gross at equally spaced strengths from 0 to 1."""
    low: float | None
    high: float | None
    """The audible difference at strengths 0 and 1; None where strength follows the parameter."""


@cache
def calibration() -> dict[str, Placement]:
    """The place of every kind on the common scale."""
    rows = json.loads(CALIBRATION.read_text(encoding="utf-8"))["kinds"]
    return {
        name: Placement(tuple(row["travel"]), row["low"], row["high"]) for name, row in rows.items()
    }


def value_of(kind: str, strength: float) -> float:
    """The value of a kind's own parameter at a strength."""
    if not 0.0 <= strength <= 1.0:
        raise UsageError(f"The strength of a fault is between 0 and 1, not {strength}.")
    travel = calibration()[kind].travel
    steps = np.linspace(0.0, 1.0, len(travel))
    return ALL_FAULTS[kind].value(float(np.interp(strength, steps, travel)))


def apply_fault(
    kind: str, waveform: Waveform, rate: int, rng: np.random.Generator, strength: float = 0.5
) -> Waveform:
    """A copy of a mono waveform with one kind of fault: the same length, in float32.

    The same state of the generator gives the same fault. A result that exceeds full scale, and
    the peak of the input, is turned down as a whole, as a file could not hold it.

    >>> import numpy as np
    >>> from otadtk.audio.faults import apply_fault
    >>> tone = 0.1 * np.sin(np.arange(16000) / 10).astype(np.float32)
    >>> apply_fault("reverberation", tone, 16000, np.random.default_rng(0), 0.7).shape
    (16000,)
    """
    if kind in UNAVAILABLE:
        raise UsageError(f"The fault {kind!r} needs {UNAVAILABLE[kind]}.")
    if kind not in FAULTS:
        raise UsageError(f"Unknown fault {kind!r}; known: {', '.join(FAULTS)}.")
    return apply_value(FAULTS[kind], waveform, rate, rng, value_of(kind, strength))


def apply_value(
    fault: Fault, waveform: Waveform, rate: int, rng: np.random.Generator, value: float
) -> Waveform:
    """A copy of a mono waveform with a fault at one value of the fault's own parameter."""
    if waveform.ndim != 1 or len(waveform) == 0:
        raise UsageError(f"A fault needs a mono waveform, not an array of shape {waveform.shape}.")
    clean = np.asarray(waveform, dtype=np.float64)
    if not np.isfinite(clean).all():
        raise UsageError("A waveform with NaN or infinite samples cannot get a fault.")
    spoilt = fault.make(clean, rate, rng, value)
    peak, limit = float(np.abs(spoilt).max()), max(1.0, float(np.abs(clean).max()))
    return (spoilt * (limit / peak) if peak > limit else spoilt).astype(np.float32)
