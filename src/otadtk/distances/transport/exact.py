"""Exact optimal transport, the limit ε → 0, by the network simplex of POT."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.duplicates import merge_duplicates
from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.squared import SquaredCost
from otadtk.distances.transport.memory import memory_budget
from otadtk.distances.transport.shares import PlanShares, SparseShares
from otadtk.distances.transport.sparse.annealing import coarse_potentials
from otadtk.distances.transport.sparse.columns import transport_by_columns
from otadtk.distances.transport.sparse.sharp import starting_pairs
from otadtk.distances.transport.sparse.support import Support, group_sums, near_pairs
from otadtk.distances.validate import as_points, as_weights, check_pair
from otadtk.errors import UsageError

LARGEST = 10_000
_ALL_PAIRS_UP_TO = 250_000


@dataclass(frozen=True)
class ExactTransport:
    """The squared Wasserstein distance W₂² with its per-sample costs and a dual bound."""

    value: float
    """⟨T, C⟩ of the optimal plan."""
    dual: float
    """Σ a f + Σ b g of feasible potentials: no plan is cheaper."""
    gap: float
    """(value − dual) / value; rounding is all there should be."""
    row_costs: FloatArray = field(repr=False)
    """Σ_j T_ij C_ij for every reference sample."""
    column_costs: FloatArray = field(repr=False)
    """Σ_i T_ij C_ij for every evaluated sample."""
    shares: PlanShares = field(repr=False)
    """Gives column j of the plan as shares of sample j's mass."""
    converged: bool = True
    """The simplex ends at the optimum."""
    notes: tuple[str, ...] = (
        "Exact transport is not debiased: it is positive for two samples of one set.",
    )
    """What a reader of the number should know."""

    @property
    def cj(self) -> FloatArray:
        """Per-sample costs of the evaluated set (Eq. 7)."""
        return self.column_costs

    @property
    def reference_costs(self) -> FloatArray:
        """Per-sample costs of the reference set."""
        return self.row_costs

    def describe(self) -> str:
        """How the number was computed and how exact it is, in one line."""
        return f"exact transport by the network simplex, duality gap {self.gap:.1e}"


def exact_transport(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    weights_x: ArrayLike | Tensor | None = None,
    weights_y: ArrayLike | Tensor | None = None,
    max_memory: int | None = None,
) -> ExactTransport:
    """W₂²(x, y) = min_T ⟨T, C⟩ for up to 10,000 samples a side.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(exact_transport(x, x + 2.0).value, 6)
    12.0
    """
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    if max(len(x_), len(y_)) > LARGEST:
        raise UsageError(
            f"Exact transport takes up to {LARGEST} samples a side, not "
            f"{max(len(x_), len(y_))}: use sinkhorn_divergence."
        )
    a, b = as_weights(weights_x, len(x_), "weights_x"), as_weights(weights_y, len(y_), "weights_y")
    cloud_x, cloud_y = merge_duplicates(x_, a), merge_duplicates(y_, b)
    cost = SquaredCost(cloud_x.points, cloud_y.points)
    n, m = cost.shape
    budget = memory_budget(n, m, x_.shape[1], cost.item_bytes, max_memory)
    panels = Panels(cost, budget.kept_bytes)
    weights_a, weights_b = cloud_x.weights.numpy(), cloud_y.weights.numpy()
    if n * m <= _ALL_PAIRS_UP_TO:
        zero_f, zero_g = torch.zeros_like(cost.x_squared), torch.zeros_like(cost.y_squared)
        start = near_pairs(panels, zero_f, zero_g, float("inf"), n * m)
        assert start is not None  # the limit is all pairs
    else:
        a_, b_ = (cloud.weights.to(cost.device, cost.wide) for cloud in (cloud_x, cloud_y))
        f, g = coarse_potentials(panels, a_, b_)
        start = starting_pairs(panels, f, g)
    rounding = 2.0 * cost.rounding().largest()
    plan = transport_by_columns(panels, start, weights_a, weights_b, 2.0 * rounding)
    used = Support(plan.basis, np.empty(0), m).with_exact_costs(cost)
    products = plan.mass * used.costs
    value = float(products.sum())
    # every f_i lowered until f_i + g_j ≤ C_ij for all j: feasible, up to the rounding of C
    f, g = torch.from_numpy(plan.f).to(cost.x_squared), torch.from_numpy(plan.g).to(cost.x_squared)
    least = torch.cat([reduced.amin(dim=1) for _, reduced in panels.reduced(f, g)])
    lowered = plan.f + least.clamp(max=0.0).cpu().double().numpy()
    dual = min(value, float(weights_a @ lowered + weights_b @ plan.g) - rounding)
    return ExactTransport(
        value=value,
        dual=dual,
        gap=(value - dual) / value if value > 0 else 0.0,
        row_costs=cloud_x.divide(group_sums(used.rows, products, n)),
        column_costs=cloud_y.divide(group_sums(used.columns, products, m)),
        shares=SparseShares(cloud_x, cloud_y, plan.basis, plan.mass),
    )
