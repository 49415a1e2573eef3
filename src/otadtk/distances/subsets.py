"""Each distance between any two subsets of one pool of points, much faster than from scratch.

``transport_between``, ``frechet_between`` and ``kernel_between`` take the pool and give a function
of two index arrays. Nothing is approximated but the solver's tolerance: Sinkhorn divergences are solved
many at a time to a stated ``margin``, or to a relative duality gap of 1e-4, from costs in float32
where that is exact enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import IndexArray
from otadtk.distances.costs.pairs import PairDistances
from otadtk.distances.costs.pool import Pool, PooledCost, fits_memory
from otadtk.distances.costs.protocol import accumulator
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.frechet import frechet_distance, nuclear_norm
from otadtk.distances.kernel import (
    BandwidthRule,
    PairsBetween,
    PairsWithin,
    kernel_distance,
    kernel_distance_by,
)
from otadtk.distances.moments import moments
from otadtk.distances.transport.certificate.plan import no_progress
from otadtk.distances.transport.couplings import TransportSettings, transport
from otadtk.distances.transport.dense.batched import LARGEST, solve_all
from otadtk.distances.transport.draws import PooledDraws
from otadtk.distances.transport.memory import memory_budget
from otadtk.distances.transport.result import Coupling
from otadtk.distances.transport.sinkhorn import cost_scale
from otadtk.distances.transport.solve import Coupler
from otadtk.distances.validate import as_points, check_epsilon, epsilon_misfit

SubsetDistance = Callable[[IndexArray, IndexArray], float]
"""The distance between pool[first] (reference) and pool[second] (evaluated)."""

REPLICATE_TOLERANCE = 1e-4
"""Relative duality gap of a replicate."""
_ROUNDED = 0.1
"""Rounding of the costs of a pool in units of ε, at most."""
_MAX_ITERATIONS = 1000
_AT_ONCE = 10
"""Small draws that are solved together: enough to save the overhead of calls."""
_EXACT_TOLERANCE = 1e-6
"""Relative duality gap of a draw that decides whether a score is larger than another."""
_BATCH_TOLERANCE = 1e-6
"""What a small problem solved with others may be off, relative to ⟨T, C⟩ or ε."""


def transport_between(points: ArrayLike | Tensor, settings: TransportSettings) -> SubsetDistance:
    """The transport distance of the settings between subsets of the pool."""
    pool = as_points(points, "points")
    dtype = exact_enough(pool, settings)
    plain = settings.coupling == "sinkhorn" and settings.compat is None
    if plain and fits_memory(len(pool), settings.max_memory, dtype.itemsize):
        return _SinkhornBetween(pool, settings, dtype)
    return lambda i, j: transport(pool[i], pool[j], settings).value


def exact_enough(pool: Tensor, settings: TransportSettings) -> torch.dtype:
    """float32, unless its rounding of the largest cost is not small against ε."""
    if pool.device.type == "mps":
        return torch.float32
    epsilon = settings.epsilon
    if settings.epsilon_scale != "absolute":  # one far point rounds the other costs to nothing
        epsilon *= SquaredCost(pool, pool, torch.float64).median(256)
    largest = SquaredCost(pool, pool, torch.float32).largest()
    small = largest * torch.finfo(torch.float32).eps <= _ROUNDED * epsilon
    return torch.float32 if small else torch.float64


@dataclass(frozen=True)
class _Problem:
    """Two subsets of a pool, merged, and ε."""

    rows: Tensor
    columns: Tensor
    a: Tensor
    b: Tensor
    cost: PooledCost
    epsilon: float


class _SinkhornBetween:
    """Sinkhorn divergences from the pool's costs; a subset's own term is solved once."""

    def __init__(self, points: Tensor, settings: TransportSettings, dtype: torch.dtype) -> None:
        self._pool, self._settings, self._dim = Pool(points, dtype), settings, points.shape[1]
        self._own: dict[tuple[bytes, float, float], float] = {}
        self._draws: PooledDraws | None = None
        self.margin = 0.0
        """By how much a value of ``many`` may differ from that of ``exactly``, rounding apart."""
        matrix = self._pool.matrix
        entropic = settings.divergence == "entropic"
        plain = settings.epsilon_scale == "absolute" and matrix.is_cpu
        if plain and epsilon_misfit(settings.epsilon, float(matrix.max()), entropic=entropic):
            plain = False  # a draw that is solved alone says so
        if plain and fits_memory(2 * len(matrix), settings.max_memory, matrix.element_size()):
            draws = PooledDraws(matrix, settings.epsilon, settings.divergence)
            if draws.usable:
                self._draws, self.margin = draws, draws.margin

    @property
    def at_once(self) -> int:
        """How many draws ``many`` is best given: more than one if they are small."""
        size, device = len(self._pool.matrix), self._pool.matrix.device
        if self._draws is not None:
            return self._draws.at_once
        few = size <= 2 * LARGEST and accumulator(device) is torch.float64
        return _AT_ONCE if few else 1

    def many(self, draws: Sequence[tuple[IndexArray, IndexArray]]) -> list[float]:
        """The divergences of the draws, solved together as far as possible."""
        values: list[float | None] = [None] * len(draws)
        pooled = self._draws
        if pooled is not None:
            a, b = (self._pool.weights([draw[side] for draw in draws]) for side in (0, 1))
            values = pooled.solve(a, b)
            if 2 * values.count(None) > len(draws):  # a pool of few points far away: not worth it
                self._draws = None
        left = {k: self._problem(*draws[k]) for k, value in enumerate(values) if value is None}
        small = [k for k, problem in left.items() if self._few(problem)]
        if small:
            for k, value in zip(small, self._together([left[k] for k in small]), strict=True):
                values[k] = value
        tolerance = REPLICATE_TOLERANCE if self.margin == 0.0 else _EXACT_TOLERANCE
        return [
            self._alone(left[k], tolerance) if value is None else value
            for k, value in enumerate(values)
        ]

    def __call__(self, i: IndexArray, j: IndexArray) -> float:
        return self.many([(i, j)])[0]

    def _problem(self, i: IndexArray, j: IndexArray) -> _Problem:
        (rows, a), (columns, b) = self._pool.subset(i), self._pool.subset(j)
        cost, settings = self._pool.cost(rows, columns), self._settings
        epsilon = settings.epsilon
        if settings.epsilon_scale != "absolute":
            scaled = cost
            if settings.epsilon_scale == "median_cost":  # which knows no weights
                scaled = self._pool.cost(self._pool.every(i), self._pool.every(j))
            epsilon *= cost_scale(scaled, a, b, settings.epsilon_scale)
        entropic = settings.divergence == "entropic"
        check_epsilon(epsilon, cost.largest(), entropic=entropic)
        return _Problem(rows, columns, a, b, cost, epsilon)

    def _together(self, problems: Sequence[_Problem]) -> list[float | None]:
        """The divergences by ``solve_batch``; None where one did not converge."""
        epsilons = torch.tensor([problem.epsilon for problem in problems], dtype=torch.float64)
        value, within = torch.zeros_like(epsilons), torch.ones_like(epsilons, dtype=torch.bool)
        pool = self._pool.matrix
        with torch.inference_mode():
            for term, weight in (("xy", 1.0), ("xx", -0.5), ("yy", -0.5)):
                first = [(p.columns, p.b) if term == "yy" else (p.rows, p.a) for p in problems]
                second = [(p.rows, p.a) if term == "xx" else (p.columns, p.b) for p in problems]
                found = solve_all(pool, first, second, epsilons, symmetric=term != "xy")
                sharp = self._settings.divergence == "sharp"
                value += weight * epsilons * (found.transport if sharp else found.entropic)
                scale = found.transport.clamp(min=1.0)
                within &= found.error <= _BATCH_TOLERANCE * scale
        return [float(v) if ok else None for v, ok in zip(value, within, strict=True)]

    def exactly(self, i: IndexArray, j: IndexArray) -> float:
        """The divergence of one draw, to more digits and whatever else is drawn."""
        problem = self._problem(i, j)
        value = self._together([problem])[0] if self._few(problem) else None
        return self._alone(problem, _EXACT_TOLERANCE) if value is None else value

    @staticmethod
    def _few(problem: _Problem) -> bool:
        """Whether dense Newton steps are fast."""
        return max(problem.cost.shape) <= LARGEST and problem.cost.wide is torch.float64

    def _alone(self, problem: _Problem, tolerance: float) -> float:
        rows, columns, a, b = problem.rows, problem.columns, problem.a, problem.b
        cost, epsilon, settings = problem.cost, problem.epsilon, self._settings
        n, m = cost.shape
        budget = memory_budget(n, m, self._dim, cost.item_bytes, settings.max_memory)
        coupler = Coupler(
            epsilon,
            tolerance,
            _MAX_ITERATIONS,
            budget,
            cost.dtype,
            no_progress,
            tight=False,
        )
        value = self._value(coupler.couple_costs(cost, a, b, "xy"))
        own = self._self_term(coupler, rows, a) + self._self_term(coupler, columns, b)
        return value - 0.5 * own

    def _self_term(self, coupler: Coupler, rows: Tensor, a: Tensor) -> float:
        key = rows.cpu().numpy().tobytes() + a.numpy().tobytes(), coupler.epsilon, coupler.tolerance
        if key not in self._own:
            cost = self._pool.cost(rows, rows)
            self._own[key] = self._value(coupler.couple_costs(cost, a, a, "xx"))
        return self._own[key]

    def _value(self, term: Coupling) -> float:
        sharp = self._settings.divergence == "sharp"
        return term.value if sharp else 0.5 * (term.primal + term.dual)


def frechet_between(points: ArrayLike | Tensor, *, max_memory: int | None = None) -> SubsetDistance:
    """The Fréchet distance between subsets of the pool.

    With fewer samples than dimensions all of it follows from the costs C = ‖x − y‖²: the
    centred products ⟨x − μ₁, y − μ₂⟩ are −½ C with the means of rows and columns removed,
    tr Σ₁ = Σ C_xx / 2n(n−1) and ‖μ₁ − μ₂‖² = mean C_xy − ½ mean C_xx − ½ mean C_yy.
    """
    pool = as_points(points, "points").cpu()
    few = fits_memory(len(pool), max_memory, item=8)
    costs = Pool(pool, torch.float64, merge=False).matrix if few else None

    def distance(i: IndexArray, j: IndexArray) -> float:
        n, m = len(i), len(j)
        if costs is None or min(n, m) > pool.shape[1]:
            return frechet_distance(moments(pool[i]), moments(pool[j]))
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
    points: ArrayLike | Tensor,
    bandwidth: float | BandwidthRule = "eval",
    *,
    max_memory: int | None = None,
) -> SubsetDistance:
    """The kernel distance between subsets of the pool; a median bandwidth is each pair's own."""
    vectors = as_points(points, "points")
    if not fits_memory(len(vectors), max_memory):
        return lambda i, j: kernel_distance(vectors[i], vectors[j], bandwidth=bandwidth).value
    pool = Pool(vectors, merge=False)

    def distance(i: IndexArray, j: IndexArray) -> float:
        rows, columns = (torch.from_numpy(side).to(vectors.device) for side in (i, j))
        both = torch.cat([rows, columns])
        return kernel_distance_by(
            {
                "ref": PairsWithin(PairDistances(pool.cost(rows, rows))),
                "eval": PairsWithin(PairDistances(pool.cost(columns, columns))),
            },
            PairsBetween(lambda: pool.cost(rows, columns), len(i) * len(j)),
            lambda: PairsWithin(PairDistances(pool.cost(both, both))),
            bandwidth,
            "gaussian",
            True,
        ).value

    return distance
