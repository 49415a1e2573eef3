"""The disjoint detection test: no evaluated clip has a twin in the reference.

Reference: folds 1 to 3. Evaluated: folds 4 and 5, where 5 % of the clips are replaced by their
degraded version. The test measures how well a cost per clip separates degraded from clean clips.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.distances.kernel import kernel_distance
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.distances.transport.exact import exact_transport
from otadtk.distances.transport.sinkhorn import sinkhorn_coupling
from otadtk.experiments.data import Plan, Points, Space, clean_plan
from otadtk.statistics.ranking import auroc
from otadtk.training.evaluation import nearest_cost
from otadtk.training.versions import UNSEEN, Version

FAULTS = {
    "noise 10 dB": ("noise", 0.5),
    "noise 20 dB": ("noise", 0.0),
    "clicks": ("clicks", 0.5),
    "dropouts": ("dropouts", 0.5),
    "clipping": ("clipping", 0.5),
    "band limit": ("band_limit", 0.5),
    "loop": ("loop", 0.5),
    "shuffle": ("shuffle", 0.5),
    **{f"{kind} (unseen)": (kind, 0.5) for kind in UNSEEN},
}
"""Kind and strength of each fault; no adapter is trained on the unseen ones."""
DRAWS = 5
SHARE = 0.05
Costs = NDArray[np.float64]


@dataclass(frozen=True)
class Sides:
    """The indices of the reference clips and of the evaluated clips."""

    reference: NDArray[np.int64]
    evaluated: NDArray[np.int64]

    @classmethod
    def of(cls, folds: NDArray[np.int64]) -> Sides:
        """Folds 1 to 3 against 4 and 5."""
        return cls(np.flatnonzero(folds <= 3), np.flatnonzero(folds >= 4))

    @property
    def count(self) -> int:
        """The number of degraded clips in one draw."""
        return max(1, round(SHARE * len(self.evaluated)))

    def degraded(self, number: int, draws: int = DRAWS) -> NDArray[np.int64]:
        """The clips to degrade with fault ``number``, draw after draw, without repetition."""
        rng = np.random.default_rng([50, number])
        return rng.permutation(self.evaluated)[: draws * self.count]


def plan(folds: NDArray[np.int64], draws: int = DRAWS) -> Plan:
    """All clips clean, and the degraded versions of all draws."""
    sides = Sides.of(folds)
    degraded = [
        Version(int(index), kind, strength)
        for number, (kind, strength) in enumerate(FAULTS.values())
        for index in sides.degraded(number, draws)
    ]
    return (*clean_plan(len(folds)), *degraded)


def mixture(space: Space, sides: Sides, name: str, draw: int) -> tuple[Points, Points, Costs]:
    """The reference points, the evaluated points, and a mask of the degraded ones (1 or 0)."""
    number, (kind, strength) = list(FAULTS).index(name), FAULTS[name]
    degraded = sides.degraded(number)[draw * sides.count : (draw + 1) * sides.count]
    kept = np.setdiff1d(sides.evaluated, degraded)
    clean = space.clean()
    y = np.concatenate([clean[kept], space.degraded(degraded, kind, strength)])
    return clean[sides.reference], y, (np.arange(len(y)) >= len(kept)).astype(np.float64)


def detect(space: Space, folds: NDArray[np.int64], name: str, draw: int) -> float:
    """AUROC of the exact plan's c_j for one fault and draw."""
    x, y, degraded = mixture(space, Sides.of(folds), name, draw)
    return auroc(degraded, exact_costs(x, y))


def exact_costs(x: Points, y: Points) -> Costs:
    """c_j of the exact plan."""
    return exact_transport(x, y).column_costs


def sinkhorn_costs(x: Points, y: Points) -> Costs:
    """c_j of the entropic plan."""
    return sinkhorn_coupling(x, y, epsilon=DEFAULT_EPSILON).column_costs


def frechet_costs(x: Points, y: Points) -> Costs:
    """The Fréchet distance of each clip, as the Gaussian N(y_j, 0), to the reference's Gaussian."""
    values = x.astype(np.float64)
    shift = np.square(y.astype(np.float64) - values.mean(axis=0)).sum(axis=1)
    return np.asarray(shift + values.var(axis=0, ddof=1).sum())


def kernel_costs(x: Points, y: Points) -> Costs:
    """The MMD witness function: mean kernel to the evaluated minus mean kernel to the reference."""
    sigma = kernel_distance(x, y).bandwidth
    reference, evaluated = torch.from_numpy(x), torch.from_numpy(y)

    def nearness(others: torch.Tensor) -> torch.Tensor:
        kernel = torch.cdist(evaluated, others).square_().mul_(-0.5 / sigma**2).exp_()
        return kernel.sum(dim=1, dtype=torch.float64)

    own = (nearness(evaluated) - 1.0) / max(1, len(y) - 1)
    witness: Costs = (own - nearness(reference) / len(x)).numpy()
    return witness


COSTS: dict[str, Callable[[Points, Points], Costs]] = {
    "c_j, exact": exact_costs,
    "c_j, Sinkhorn": sinkhorn_costs,
    "nearest": nearest_cost,
    "FAD": frechet_costs,
    "kernel": kernel_costs,
}
"""The costs of single clips against a reference, by name."""


def ceiling(space: Space, folds: NDArray[np.int64], name: str, draws: int = DRAWS) -> float:
    """AUROC of a logistic regression trained on the same fault, with 5-fold cross-validation."""
    sides, (kind, strength) = Sides.of(folds), FAULTS[name]
    degraded = sides.degraded(list(FAULTS).index(name), draws)
    x = np.concatenate([space.clean()[sides.evaluated], space.degraded(degraded, kind, strength)])
    y = np.arange(len(x)) >= len(sides.evaluated)
    part = np.concatenate([sides.evaluated, degraded]) % 5  # both versions of a clip in one fold
    scores = np.zeros(len(x))
    for fold in range(5):
        scores[part == fold] = _logistic(x[part != fold], y[part != fold], x[part == fold])
    return auroc(y, scores)


_SCALE = 30.0
"""A coordinate of a unit vector in 1024 dimensions is about 1/32."""


def _logistic(x: Points, y: NDArray[np.bool_], new: Points) -> Points:
    mean, scale = x.mean(axis=0), _SCALE / max(float(np.linalg.norm(x, axis=1).mean()), 1e-12)
    layer = torch.nn.Linear(x.shape[1], 1)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    inputs, target = torch.from_numpy(scale * (x - mean)), torch.from_numpy(y.astype(np.float32))
    optimiser = torch.optim.LBFGS(layer.parameters(), max_iter=100)
    balance = torch.tensor(float((~y).sum() / max(1, y.sum())))

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            layer(inputs)[:, 0], target, pos_weight=balance
        )
        loss = loss + 1e-3 * layer.weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        scores: Points = layer(torch.from_numpy(scale * (new - mean)))[:, 0].numpy()
    return scores
