"""Each distance between any two subsets of one pool of points, much faster than from scratch.

``transport_between``, ``frechet_between`` and ``kernel_between`` take the pool and give a function
of two index arrays. Nothing is approximated but the solver's tolerance: a replicate of a
Sinkhorn divergence is solved to a relative duality gap of 1e-4, from costs in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.couple import Coupler
from otadtk.distances.frechet import frechet_distance, nuclear_norm
from otadtk.distances.kernel import (
    BandwidthRule,
    PairsBetween,
    PairsWithin,
    kernel_distance,
    kernel_distance_by,
)
from otadtk.distances.pairs import PairDistances
from otadtk.distances.pool import IndexArray, PooledCosts, fits_memory
from otadtk.distances.regime import plan_memory
from otadtk.distances.result import Coupling
from otadtk.distances.sinkhorn import cost_scale
from otadtk.distances.transport import TransportSettings, transport
from otadtk.distances.validate import as_points

SubsetDistance = Callable[[IndexArray, IndexArray], float]
"""The distance between pool[first] (reference) and pool[second] (evaluated)."""

REPLICATE_TOLERANCE = 1e-4
_MAX_ITERATIONS = 1000


def transport_between(points: ArrayLike | Tensor, settings: TransportSettings) -> SubsetDistance:
    """The transport distance of the settings between subsets of the pool."""
    pool = as_points(points, "points")
    plain = settings.coupling == "sinkhorn" and settings.compat is None
    if plain and fits_memory(len(pool), settings.max_memory):
        return _SinkhornBetween(pool, settings)
    return lambda i, j: transport(pool[i], pool[j], settings).value


class _SinkhornBetween:
    """Sinkhorn divergences from the pool's costs; a subset's own term is solved once."""

    def __init__(self, pool: Tensor, settings: TransportSettings) -> None:
        self._costs, self._settings, self._dim = PooledCosts(pool), settings, pool.shape[1]
        self._own: dict[tuple[bytes, float], float] = {}

    def __call__(self, i: IndexArray, j: IndexArray) -> float:
        (rows, a), (columns, b) = self._costs.subset(i), self._costs.subset(j)
        cost, settings = self._costs.block(rows, columns), self._settings
        epsilon = settings.epsilon
        if settings.epsilon_scale != "absolute":
            epsilon *= cost_scale(cost, a, b, settings.epsilon_scale)
        budget = plan_memory(*cost.shape, self._dim, 4, settings.max_memory)
        coupler = Coupler(
            *(epsilon, REPLICATE_TOLERANCE, _MAX_ITERATIONS, budget, cost.dtype, _nobody),
            tight=False,
        )
        value = self._value(coupler.couple_costs(cost, a, b, "xy"))
        own = self._self_term(coupler, rows, a) + self._self_term(coupler, columns, b)
        return value - 0.5 * own

    def _self_term(self, coupler: Coupler, rows: Tensor, a: Tensor) -> float:
        key = rows.cpu().numpy().tobytes() + a.numpy().tobytes(), coupler.epsilon
        if key not in self._own:
            cost = self._costs.block(rows, rows)
            self._own[key] = self._value(coupler.couple_costs(cost, a, a, "xx"))
        return self._own[key]

    def _value(self, term: Coupling) -> float:
        sharp = self._settings.divergence == "sharp"
        return term.value if sharp else 0.5 * (term.primal + term.dual)


def frechet_between(points: ArrayLike | Tensor) -> SubsetDistance:
    """The Fréchet distance between subsets of the pool.

    With fewer samples than dimensions all of it follows from the costs C = ‖x − y‖²: the
    centred products ⟨x − μ₁, y − μ₂⟩ are −½ C with the means of rows and columns removed,
    tr Σ₁ = Σ C_xx / 2n(n−1) and ‖μ₁ − μ₂‖² = mean C_xy − ½ mean C_xx − ½ mean C_yy.
    """
    pool = as_points(points, "points").cpu()
    few = fits_memory(len(pool), item=8)
    costs = PooledCosts(pool, torch.float64, merge=False).matrix if few else None

    def distance(i: IndexArray, j: IndexArray) -> float:
        n, m = len(i), len(j)
        if costs is None or min(n, m) > pool.shape[1]:
            return frechet_distance(pool[i], pool[j])
        rows, columns = (torch.from_numpy(np.sort(side)) for side in (i, j))  # read in order
        drawn = torch.zeros(len(pool), 2, dtype=torch.float64)
        drawn[:, 0].index_add_(0, rows, torch.ones(n, dtype=torch.float64))
        drawn[:, 1].index_add_(0, columns, torch.ones(m, dtype=torch.float64))
        within_x, across, _, within_y = (drawn.T @ costs @ drawn).flatten().tolist()
        shift = across / (n * m) - within_x / (2 * n * n) - within_y / (2 * m * m)
        traces = within_x / (2 * n * (n - 1)) + within_y / (2 * m * (m - 1))
        block = costs.index_select(0, rows).index_select(1, columns)
        block -= block.mean(dim=0)
        block -= block.mean(dim=1, keepdim=True)
        overlap = 0.5 * nuclear_norm(block, direct=False) / math.sqrt((n - 1) * (m - 1))
        return max(0.0, float(shift + traces - 2.0 * overlap))

    return distance


def kernel_between(
    points: ArrayLike | Tensor, bandwidth: float | BandwidthRule = "eval"
) -> SubsetDistance:
    """The kernel distance between subsets of the pool; a median bandwidth is each pair's own."""
    pool = as_points(points, "points")
    if not fits_memory(len(pool)):
        return lambda i, j: kernel_distance(pool[i], pool[j], bandwidth=bandwidth).value
    costs = PooledCosts(pool, merge=False)

    def distance(i: IndexArray, j: IndexArray) -> float:
        rows, columns = (torch.from_numpy(side).to(pool.device) for side in (i, j))
        both = torch.cat([rows, columns])
        return kernel_distance_by(
            {
                "ref": PairsWithin(PairDistances(costs.block(rows, rows))),
                "eval": PairsWithin(PairDistances(costs.block(columns, columns))),
            },
            PairsBetween(lambda: costs.block(rows, columns), len(i) * len(j)),
            lambda: PairsWithin(PairDistances(costs.block(both, both))),
            *(bandwidth, "gaussian", True),
        ).value

    return distance


def _nobody(term: str, iteration: int, error: float) -> None:
    """Nobody watches a replicate."""
