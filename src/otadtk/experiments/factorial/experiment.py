"""Cost and coupling, corrected alone and together, on four axes (5.3, B.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.moments import moments
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.experiments.data import Plan, Points, Space, clean_plan
from otadtk.experiments.factorial.show import AXES, draw, tables
from otadtk.experiments.rows import Row
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.training.versions import Version

if TYPE_CHECKING:
    from otadtk.experiments.data import Embedded

_ADAPTERS = ("agnostic", "native")


@dataclass(frozen=True)
class FactorialConfig:
    """The four axes, with the details that the paper leaves open.

    recall: every clip is replaced by another clip of its class. semantic: a share of the clips is
    replaced by clips of other classes. precision: every clip gets white noise. structural: every
    clip is cut and shuffled. Strengths are those of ``otadtk.audio.perturb``: 10 dB, 15 segments.
    """

    draws: int = 5
    """For recall and semantic; the other axes are not random."""
    share: float = 0.05
    noise: float = 0.5
    shuffle: float = 0.5
    epsilon: float = DEFAULT_EPSILON


QUICK = FactorialConfig(draws=1)


def same_class(labels: NDArray[np.str_], seed: int) -> NDArray[np.int64]:
    """For every clip another clip of its class, drawn with replacement."""
    rng = np.random.default_rng([7, seed])
    chosen = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        steps = rng.integers(1, max(2, len(members)), size=len(members))
        chosen[members] = members[(np.arange(len(members)) + steps) % len(members)]
    return chosen


def replaced_classes(labels: NDArray[np.str_], share: float, seed: int) -> NDArray[np.int64]:
    """The indices of all clips, a share of them replaced by clips of other classes."""
    rng = np.random.default_rng([8, seed])
    order = np.arange(len(labels))
    for index in rng.permutation(len(labels))[: max(1, round(share * len(labels)))]:
        order[index] = rng.choice(np.flatnonzero(labels != labels[index]))
    return order


def evaluated(
    space: Space, labels: NDArray[np.str_], axis: str, config: FactorialConfig, seed: int
) -> Points:
    """The evaluated points of an axis."""
    clean, everything = space.clean(), np.arange(len(labels))
    if axis == "recall":
        return clean[same_class(labels, seed)]
    if axis == "semantic":
        return clean[replaced_classes(labels, config.share, seed)]
    if axis == "precision":
        return space.degraded(everything, "noise", config.noise)
    return space.degraded(everything, "shuffle", config.shuffle)


def _plan(config: FactorialConfig, count: int) -> Plan:
    degraded = [
        Version(index, kind, strength)
        for index in range(count)
        for kind, strength in (("noise", config.noise), ("shuffle", config.shuffle))
    ]
    return (*clean_plan(count), *degraded)


def tasks(config: FactorialConfig, source: Source) -> list[Task]:
    """FAD and Sinkhorn for every model, ground metric, axis and draw."""
    found = []
    for model in source.request.models:
        own = source.embedded(model)
        for variant in ("raw", *(v for v in _ADAPTERS if v in own.variants)):
            for axis in AXES:
                draws = config.draws if axis in ("recall", "semantic") else 1
                found += [_task(config, own, variant, axis, turn) for turn in range(draws)]
    return found


def _task(config: FactorialConfig, own: Embedded, variant: str, axis: str, turn: int) -> Task:
    def compute() -> list[Row]:
        labels = own.dataset.labels
        space = own.space(_plan(config, len(labels)), variant)
        x, y = space.clean(), evaluated(space, labels, axis, config, turn)
        return [
            {
                "model": own.model,
                "dimension": own.spec.dim,
                "variant": variant,
                "axis": axis,
                "seed": turn,
                "fad": frechet_distance(moments(x), moments(y)),
                "sinkhorn": sinkhorn_divergence(x, y, epsilon=config.epsilon).value,
            }
        ]

    return Task(f"{own.model} {variant} {axis} {turn}", compute)


EXPERIMENT = Experiment("factorial", FactorialConfig(), QUICK, tasks, tables, draw)
