"""The debiased Sinkhorn divergence of two sets, with its per-sample costs (Eq. 6 and 7).

OT_ε is solved in the log domain: f_i = −ε log Σ_j b_j exp((g_j − C_ij)/ε) and the same for g, with
ε lowered step by step from the scale of the costs, so that each step starts near its solution.
What is reported is the "sharp" form: ⟨T,C⟩ of the three plans, debiased. Eq. (6) in the literature
(Feydy et al., 2019) adds the entropy of the plans.
"""

from __future__ import annotations

import math

import torch

from otadtk.distances.result import Coupling, Divergence
from otadtk.distances.samples import Samples, check_samples
from otadtk.errors import UsageError

TOLERANCE = 1e-6
MAX_ITERATIONS = 2_000
_ANNEALING_FACTOR = 0.5
_ITERATIONS_PER_STEP = 5
_CHECK_EVERY = 10


def sinkhorn_divergence(
    x: Samples, y: Samples, *, epsilon: float = 0.1, max_iterations: int = MAX_ITERATIONS
) -> Divergence:
    """S_ε(x, y) = OT(x,y) − ½ OT(x,x) − ½ OT(y,y) for the cost ‖x − y‖² and uniform weights.

    >>> import torch
    >>> from otadtk.distances.sinkhorn import sinkhorn_divergence
    >>> x = torch.tensor([[0.0], [1.0]])
    >>> round(sinkhorn_divergence(x, x + 2, epsilon=0.5).value, 5)
    4.0
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise UsageError(f"epsilon must be a positive number, not {epsilon}.")
    x, y = check_samples(x, y)
    # centre first: squared distances by expansion lose digits when embeddings share an offset
    centre = torch.cat([x, y]).double().mean(dim=0)
    x, y = x.double() - centre, y.double() - centre
    cross = _solve(_squared_distances(x, y), epsilon, max_iterations, symmetric=False)
    self_x = _solve(_squared_distances(x, x), epsilon, max_iterations, symmetric=True)
    self_y = _solve(_squared_distances(y, y), epsilon, max_iterations, symmetric=True)
    value = cross.value - 0.5 * self_x.value - 0.5 * self_y.value
    return Divergence(value, epsilon, cross, self_x, self_y)


def _squared_distances(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    norms = x.square().sum(dim=1)[:, None] + y.square().sum(dim=1)[None, :]
    return (norms - 2.0 * (x @ y.T)).clamp_min(0.0)


def _solve(cost: torch.Tensor, epsilon: float, max_iterations: int, *, symmetric: bool) -> Coupling:
    """The plan of one problem, annealed down to ``epsilon`` and then iterated to tolerance."""
    n, m = cost.shape
    f, g = cost.new_zeros(n), cost.new_zeros(m)
    iterations, step = 0, max(epsilon, float(cost.max()))
    while step > epsilon:
        for _ in range(_ITERATIONS_PER_STEP):
            f, g = _iterate(cost, f, g, step, symmetric)
            iterations += 1
        step = max(epsilon, step * _ANNEALING_FACTOR)
    budget = iterations + max_iterations
    while True:
        for _ in range(_CHECK_EVERY):
            f, g = _iterate(cost, f, g, epsilon, symmetric)
            iterations += 1
        plan = torch.exp((f[:, None] + g[None, :] - cost) / epsilon) / (n * m)
        rows, columns = (plan.sum(dim=1) - 1 / n).abs().sum(), (plan.sum(dim=0) - 1 / m).abs().sum()
        error = float(rows + columns)
        if error <= TOLERANCE or iterations >= budget:
            break
    column_costs = (plan * cost).sum(dim=0).cpu().numpy()
    return Coupling(float(column_costs.sum()), column_costs, iterations, error, error <= TOLERANCE)


def _iterate(
    cost: torch.Tensor, f: torch.Tensor, g: torch.Tensor, epsilon: float, symmetric: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    if symmetric:  # the averaged update converges in a few steps and keeps f = g
        f = 0.5 * (f + _soft_minimum(cost, f, epsilon))
        return f, f
    f = _soft_minimum(cost, g, epsilon)
    return f, _soft_minimum(cost.T, f, epsilon)


def _soft_minimum(cost: torch.Tensor, potential: torch.Tensor, epsilon: float) -> torch.Tensor:
    """−ε log mean_j exp((potential_j − cost_ij)/ε)."""
    scores = (potential[None, :] - cost) / epsilon
    return -epsilon * (torch.logsumexp(scores, dim=1) - math.log(cost.shape[1]))
