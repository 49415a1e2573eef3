"""The disjoint detection test: spoilt clips among clean ones none of which has a twin.

Reference: folds 1 to 3. Evaluated: folds 4 and 5, of which 5 % are replaced by a spoilt version of
themselves. How well does a cost of each evaluated clip find the spoilt ones?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.distances.exact import exact_transport
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.sinkhorn import sinkhorn_coupling
from otadtk.experiments.data import Plan, Points, Space, clean_plan
from otadtk.statistics import auroc
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
"""Kind and strength of each fault; no adapter is trained on those called unseen."""
DRAWS = 5
SHARE = 0.05
EPSILON = 0.1
Costs = NDArray[np.float64]


@dataclass(frozen=True)
class Sides:
    """Which clips are the reference, and which are evaluated."""

    reference: NDArray[np.int64]
    evaluated: NDArray[np.int64]

    @classmethod
    def of(cls, folds: NDArray[np.int64]) -> Sides:
        """Folds 1 to 3 against 4 and 5."""
        return cls(np.flatnonzero(folds <= 3), np.flatnonzero(folds >= 4))

    @property
    def count(self) -> int:
        """How many evaluated clips are spoilt at a time."""
        return max(1, round(SHARE * len(self.evaluated)))

    def spoilt(self, number: int, draws: int = DRAWS) -> NDArray[np.int64]:
        """The clips that are spoilt with the fault of that number: draw after draw, none twice."""
        rng = np.random.default_rng([50, number])
        return rng.permutation(self.evaluated)[: draws * self.count]


def plan(folds: NDArray[np.int64], draws: int = DRAWS) -> Plan:
    """All clips clean, and the spoilt versions of all draws."""
    sides = Sides.of(folds)
    spoilt = [
        Version(int(index), kind, strength)
        for number, (kind, strength) in enumerate(FAULTS.values())
        for index in sides.spoilt(number, draws)
    ]
    return (*clean_plan(len(folds)), *spoilt)


def mixture(space: Space, sides: Sides, name: str, draw: int) -> tuple[Points, Points, Costs]:
    """The reference points, the evaluated points, and 1 for each of these that is spoilt."""
    number, (kind, strength) = list(FAULTS).index(name), FAULTS[name]
    spoilt = sides.spoilt(number)[draw * sides.count : (draw + 1) * sides.count]
    kept = np.setdiff1d(sides.evaluated, spoilt)
    clean = space.clean()
    y = np.concatenate([clean[kept], space.spoilt(spoilt, kind, strength)])
    return clean[sides.reference], y, (np.arange(len(y)) >= len(kept)).astype(np.float64)


def detect(space: Space, folds: NDArray[np.int64], name: str, draw: int) -> float:
    """AUROC of c_j of the exact plan for one fault and draw."""
    x, y, spoilt = mixture(space, Sides.of(folds), name, draw)
    return auroc(spoilt, exact_costs(x, y))


def exact_costs(x: Points, y: Points) -> Costs:
    """c_j of the exact plan."""
    return exact_transport(x, y).column_costs


def sinkhorn_costs(x: Points, y: Points) -> Costs:
    """c_j of the entropic plan."""
    return sinkhorn_coupling(x, y, epsilon=EPSILON).column_costs


def frechet_costs(x: Points, y: Points) -> Costs:
    """The Fréchet distance of each clip alone, N(y_j, 0), from the reference's Gaussian."""
    values = x.astype(np.float64)
    shift = np.square(y.astype(np.float64) - values.mean(axis=0)).sum(axis=1)
    return np.asarray(shift + values.var(axis=0, ddof=1).sum())


def kernel_costs(x: Points, y: Points) -> Costs:
    """The witness of the kernel distance: nearness to the evaluated less nearness to the reference."""
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
"""What can be said of one clip against a reference, by name."""


def ceiling(space: Space, folds: NDArray[np.int64], name: str, draws: int = DRAWS) -> float:
    """AUROC of a logistic regression supervised on this very fault, cross-validated in five parts."""
    sides, (kind, strength) = Sides.of(folds), FAULTS[name]
    spoilt = sides.spoilt(list(FAULTS).index(name), draws)
    x = np.concatenate([space.clean()[sides.evaluated], space.spoilt(spoilt, kind, strength)])
    y = np.arange(len(x)) >= len(sides.evaluated)
    part = np.concatenate([sides.evaluated, spoilt]) % 5  # both versions of a clip on one side
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
