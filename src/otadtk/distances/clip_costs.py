"""The transport costs of single clips between subsets of one pool, by any coupling.

``statistics/conformal.py`` holds out parts of a reference and asks for these costs again and again.
They do not depend on the order of the clips, apart from the draws of the approximations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import FloatArray, IndexArray
from otadtk.distances.costs.pool import Pool, fits_memory
from otadtk.distances.subsets import REPLICATE_TOLERANCE, exact_enough
from otadtk.distances.transport.couplings import TransportSettings, transport
from otadtk.distances.transport.memory import memory_budget
from otadtk.distances.transport.sinkhorn import cost_scale
from otadtk.distances.transport.solve import Coupler
from otadtk.distances.validate import as_points

ClipCosts = Callable[[IndexArray, IndexArray], FloatArray]
"""The cost of each clip of pool[second], transported to pool[first]: M·c_j, so that it does not
shrink with the number of clips."""

_MAX_ITERATIONS = 1000


def clip_costs_between(points: ArrayLike | Tensor, settings: TransportSettings) -> ClipCosts:
    """The costs of the settings' coupling between subsets of the pool."""
    pool = as_points(points, "points")
    dtype = exact_enough(pool, settings)
    plain = settings.coupling == "sinkhorn" and settings.compat is None
    if plain and fits_memory(len(pool), settings.max_memory, dtype.itemsize):
        return _SinkhornCosts(pool, settings, dtype)
    return lambda i, j: len(j) * transport(pool[i], pool[j], settings).cj


class _SinkhornCosts:
    """Costs of the entropic plan, from the pool's matrix; the terms of debiasing are not needed."""

    def __init__(self, points: Tensor, settings: TransportSettings, dtype: torch.dtype) -> None:
        self._pool, self._settings, self._dim = Pool(points, dtype), settings, points.shape[1]

    def __call__(self, i: IndexArray, j: IndexArray) -> FloatArray:
        (rows, a), (columns, b) = self._pool.subset(i), self._pool.subset(j)
        cost, settings = self._pool.cost(rows, columns), self._settings
        epsilon = settings.epsilon
        if settings.epsilon_scale != "absolute":
            scaled = cost
            if settings.epsilon_scale == "median_cost":  # which knows no weights
                scaled = self._pool.cost(self._pool.every(i), self._pool.every(j))
            epsilon *= cost_scale(scaled, a, b, settings.epsilon_scale)
        n, m = cost.shape
        budget = memory_budget(n, m, self._dim, cost.item_bytes, settings.max_memory)
        coupler = Coupler(
            epsilon, REPLICATE_TOLERANCE, _MAX_ITERATIONS, budget, cost.dtype, _nobody, tight=False
        )
        found = coupler.couple_costs(cost, a, b, "xy").column_costs / b.numpy()
        place = np.empty(int(columns.max()) + 1, dtype=np.intp)
        place[columns.cpu().numpy()] = np.arange(len(columns))
        expanded: FloatArray = found[place[self._pool.every(j).cpu().numpy()]]
        return expanded


def _nobody(term: str, iteration: int, error: float) -> None:
    """Nobody watches a fold."""
