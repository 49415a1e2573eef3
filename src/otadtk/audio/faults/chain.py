"""Random chains of faults: up to three kinds, one after the other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from otadtk.audio.faults.table import FAULTS, Waveform, apply_fault
from otadtk.errors import UsageError


@dataclass(frozen=True)
class Step:
    """One fault of a chain."""

    kind: str
    strength: float


Chain = tuple[Step, ...]


def draw_chain(
    rng: np.random.Generator,
    *,
    kinds: Collection[str] | None = None,
    longest: int = 3,
    strengths: tuple[float, float] = (0.0, 1.0),
) -> Chain:
    """One to ``longest`` different kinds in random order, each at a random strength.

    Without ``kinds`` all that can run here are drawn from.
    """
    names = sorted(FAULTS if kinds is None else kinds)
    if not names or longest < 1:
        raise UsageError(f"A chain of up to {longest} faults of {len(names)} kinds has no fault.")
    count = min(int(rng.integers(1, longest + 1)), len(names))
    chosen = rng.choice(names, size=count, replace=False)
    return tuple(Step(str(name), float(rng.uniform(strengths[0], strengths[1]))) for name in chosen)


def apply_chain(chain: Chain, waveform: Waveform, rate: int, rng: np.random.Generator) -> Waveform:
    """The waveform with every fault of a chain, one after the other."""
    for step in chain:
        waveform = apply_fault(step.kind, waveform, rate, rng, step.strength)
    return waveform


def random_chain(
    waveform: Waveform,
    rate: int,
    rng: np.random.Generator,
    *,
    kinds: Collection[str] | None = None,
    longest: int = 3,
    strengths: tuple[float, float] = (0.0, 1.0),
) -> tuple[Waveform, Chain]:
    """The waveform with a random chain of faults, and the chain."""
    chain = draw_chain(rng, kinds=kinds, longest=longest, strengths=strengths)
    return apply_chain(chain, waveform, rate, rng), chain
