"""Which faults the clips get for the perceptual variant, and what its network should say of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.faults import FAMILIES, FAULTS, Chain, Step, draw_chain
from otadtk.training.datasets import LabelledClip
from otadtk.training.split import Mask
from otadtk.training.spoil import CLEAN, EXCERPT
from otadtk.training.versions import ALWAYS, OTHERS, Version, VersionSet

NAMES = tuple(FAMILIES)
"""The families, in the order of the network's outputs."""
UNHEARD = frozenset({"polarity"})
"""Kinds that nobody hears on their own: the network is not asked to find them."""
VALIDATION_STRENGTH = 0.75
_TRAINING_STRENGTHS = (0.1, 1.0)
_FAMILY = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}
_WEAKEST = 0.35
"""Where the mildest faults of ``perturb`` are on the scale of ``otadtk.audio.faults``, about."""


def training_plan(
    clips: Sequence[LabelledClip], chosen: Mask, seed: int, singles: int
) -> list[Version]:
    """The versions of every chosen clip: an excerpt, single faults in turn, and random chains.

    Some more are of the first kinds of ``perturb``, which make some of the same faults in other
    ways.
    """
    rest = max(1, singles // 3)
    kinds = sorted(FAULTS)
    first = (*ALWAYS, *OTHERS)
    plan = []
    for turn, index in enumerate(np.flatnonzero(chosen).tolist()):
        rng = _generator(clips[index], seed)
        plan.append(Version(index, EXCERPT, 0.0))
        for k in range(singles * turn, singles * (turn + 1)):
            step = Step(kinds[k % len(kinds)], float(rng.uniform(*_TRAINING_STRENGTHS)))
            plan.append(Version.of_chain(index, (step,)))
        for _ in range(rest):
            plan.append(Version.of_chain(index, draw_chain(rng, strengths=_TRAINING_STRENGTHS)))
        for kind in rng.choice(first, size=rest, replace=False):
            plan.append(Version(index, str(kind), float(rng.random())))
    return plan


def validation_plan(clips: Sequence[LabelledClip], held_out: Mask, seed: int) -> list[Version]:
    """All clips clean; held-out ones with what the probes need, and with two kinds in turn."""
    kinds = sorted(FAULTS)
    plan = [Version(index, CLEAN, 0.0) for index in range(len(clips))]
    for turn, index in enumerate(np.flatnonzero(held_out).tolist()):
        rng = _generator(clips[index], seed)
        plan += [Version(index, kind, float(rng.random())) for kind in ALWAYS]
        for k in (2 * turn, 2 * turn + 1):
            step = Step(kinds[k % len(kinds)], VALIDATION_STRENGTH)
            plan.append(Version.of_chain(index, (step,)))
    return plan


def family_of(chain: Chain) -> str:
    """The family of a chain of one fault; "" for any other."""
    return _FAMILY[chain[0].kind] if len(chain) == 1 else ""


def strengths(versions: VersionSet) -> NDArray[np.float32]:
    """The greatest strength ``(n, families)`` of each family in each version."""
    found = np.zeros((len(versions.chains), len(NAMES)), dtype=np.float32)
    for row, chain, kind, strength in zip(
        found, versions.chains, versions.kind, versions.strength, strict=True
    ):
        if not chain and kind in _FAMILY:  # of perturb, on its own scale
            row[NAMES.index(_FAMILY[kind])] = _WEAKEST + (1.0 - _WEAKEST) * strength
        for step in chain:
            if step.kind not in UNHEARD:
                column = NAMES.index(_FAMILY[step.kind])
                row[column] = max(row[column], step.strength)
    return found


def _generator(clip: LabelledClip, seed: int) -> np.random.Generator:
    """Randomness that depends on the clip's name and the seed alone."""
    return np.random.default_rng(
        zlib.crc32(f"{seed} {clip.label} {clip.path.name}".encode(errors="surrogateescape"))
    )
