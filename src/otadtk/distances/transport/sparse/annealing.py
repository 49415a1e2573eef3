"""Coarse potentials by annealing: they show where the plan of a sharp problem has its mass.

A sample of at most 2,000 points of each cloud is annealed from half the mean cost down to a
200th of it, or to an ε that is given, four over-relaxed sweeps a stage; one soft minimum extends
the result to all points. The result is rough (marginals off by some per cent), which is enough: the
support that it suggests is repaired by pricing (``columns.py``), or sweeps go on from it.
Step 3a of the ladder, and step 4.
"""

from __future__ import annotations

import torch
from torch import Tensor

from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import row_tiles
from otadtk.distances.transport.dense.gibbs import EXPONENT_FLOOR

SAMPLE = 2000
_FINEST = 200.0
_FACTOR = 3.0
_SWEEPS = 4
_RELAXATION = 1.5


def coarse_potentials(
    panels: Panels, a: Tensor, b: Tensor, end: float | None = None
) -> tuple[Tensor, Tensor]:
    """(f, g) for all points of both clouds at a coarse ε, or the one given, in float64."""
    cost = panels.cost
    rows, columns = weighted_sample(a), weighted_sample(b)
    a_sample, b_sample = a[rows] / a[rows].sum(), b[columns] / b[columns].sum()
    if len(columns) == len(b):
        tile = panels.rows(rows)
    else:
        tile = cost.restricted(rows, columns).tile(slice(0, len(rows)))
    end = float(tile.mean()) / _FINEST if end is None else end
    f, g = anneal(tile, a_sample, b_sample, end)
    if len(rows) < len(a) or len(columns) < len(b):
        g = soft_minimum(cost.restricted(rows), f, a_sample, end)
        f, g = _refine(panels, g, a, b, end)
    return f, g


def weighted_sample(weights: Tensor, count: int = SAMPLE) -> Tensor:
    """Indices of a seeded weighted sample without repetition, sorted."""
    if len(weights) <= count:
        return torch.arange(len(weights), device=weights.device)
    generator = torch.Generator().manual_seed(0)
    uniform = torch.rand(len(weights), generator=generator, dtype=torch.float64)
    keys = weights.cpu().double().log() - (-uniform.log()).log()  # Gumbel top-k
    return torch.topk(keys, count).indices.sort().values.to(weights.device)


def anneal(cost: Tensor, a: Tensor, b: Tensor, end: float) -> tuple[Tensor, Tensor]:
    """Over-relaxed Sinkhorn sweeps at ε = mean/2, mean/6, … down to ``end``."""
    f, g = torch.zeros_like(a), torch.zeros_like(b)
    kernel = torch.empty_like(cost)
    epsilon = max(0.5 * float(cost.mean()), end)
    while True:
        torch.mul(cost, -1.0 / epsilon, out=kernel)
        kernel += (g / epsilon).to(cost.dtype)
        peak = kernel.amax(dim=1, keepdim=True)
        kernel -= peak
        kernel.clamp_(min=EXPONENT_FLOOR).exp_()
        f = -epsilon * peak[:, 0].to(f.dtype)
        u, v = torch.ones_like(a), torch.ones_like(b)
        for sweep in range(_SWEEPS):
            relaxation = 1.0 if sweep == 0 else _RELAXATION
            row = (kernel @ (v * b).to(cost.dtype)).to(u.dtype)
            u = u * (u * row) ** -relaxation
            column = (kernel.T @ (u * a).to(cost.dtype)).to(v.dtype)
            v = v * (v * column) ** -relaxation
        f, g = f + epsilon * u.log(), g + epsilon * v.log()
        if epsilon <= end:
            return f, g
        epsilon = max(epsilon / _FACTOR, end)


def soft_minimum(cost: Cost, f: Tensor, a: Tensor, epsilon: float) -> Tensor:
    """g_j = −ε log Σ_i a_i exp((f_i − C_ij)/ε) for all columns of the cost."""
    flipped = cost.transposed()
    g = torch.empty(flipped.shape[0], dtype=f.dtype, device=f.device)
    shift = (f / epsilon + a.log()).to(cost.dtype)
    for rows in row_tiles(*flipped.shape):
        exponent = flipped.tile(rows).mul_(-1.0 / epsilon).add_(shift)
        g[rows] = -epsilon * torch.logsumexp(exponent, dim=1).to(g.dtype)
    return g


def _refine(
    panels: Panels, g: Tensor, a: Tensor, b: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    """One Sinkhorn sweep over the full clouds: f from g, then g from f, in a single pass."""
    f = torch.empty_like(a)
    dtype = panels.cost.dtype
    column = torch.zeros_like(b)
    for rows, reduced in panels.reduced(torch.zeros_like(a), g):
        reduced.mul_(-1.0 / epsilon)
        peak = reduced.amax(dim=1, keepdim=True)
        kernel = reduced.sub_(peak).clamp_(min=EXPONENT_FLOOR).exp_()
        row = (kernel @ b.to(dtype)).to(f.dtype)
        f[rows] = -epsilon * (peak[:, 0].to(f.dtype) + row.log())
        column += kernel.T @ (a[rows] / row).to(dtype)
    floor = torch.finfo(dtype).tiny  # a column that no row favours keeps its potential
    return f, g - epsilon * column.clamp(min=floor).log()
