"""Exact transport by column generation: a network simplex on few pairs, priced on all of them.

The simplex (POT's, on a sparse graph) solves the transport over a support; a pass over the
costs finds the pairs with C_ij < f_i + g_j, which join the support; when there are none, the
plan is optimal over all pairs. A reserve source and sink, joined to everyone at a high price,
keep every restricted problem feasible.
Step 3b of the ladder.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch

from otadtk.distances.arrays import FloatArray
from otadtk.distances.costs.panels import Panels
from otadtk.distances.transport.sparse.support import IndexArray, PairList, Support

_ROUNDS = 60
_NEWCOMERS = 4
_PIECE_CAP, _ROW_CAP = 1_000, 20
"""Violated pairs of a piece, and of each of its rows, up to which all of them are looked at."""


@dataclass(frozen=True)
class ExactPlan:
    """An optimal plan on its support with potentials: f_i + g_j ≤ C_ij + slack everywhere."""

    f: FloatArray
    g: FloatArray
    support: Support
    """All pairs that took part; the last simplex is optimal over them."""
    basis: IndexArray
    """Linear indices of the pairs that carry mass."""
    mass: FloatArray
    """T at these pairs."""
    reserve: float
    """Mass that went through the reserve: zero for a feasible plan."""


def transport_by_columns(
    panels: Panels,
    support: Support,
    a: FloatArray,
    b: FloatArray,
    slack: float,
    enough: float = 0.0,
) -> ExactPlan:
    """The optimal plan up to reduced costs of −slack, starting from a support.

    It ends early when pricing finds fewer than ``enough`` new pairs a row; they join the support.
    """
    cost = panels.cost
    price = 4.0 * cost.largest() + 1.0
    for _ in range(_ROUNDS):
        f, g, basis, mass, reserve = _network_simplex(support, a, b, price)
        newcomers = _price(panels, f, g, a, b, slack)
        if len(newcomers) == 0:
            break
        grown = newcomers.joined(support)
        if len(grown) == len(support):
            break  # only rounding is left
        support = grown
        if len(newcomers) < enough * len(a):
            break
    return ExactPlan(f, g, support, basis, mass, reserve)


def _network_simplex(
    support: Support, a: FloatArray, b: FloatArray, price: float
) -> tuple[FloatArray, FloatArray, IndexArray, FloatArray, float]:
    """(f, g, linear indices with mass, their mass, mass of the reserve) over the support."""
    import ot  # slow to import, and smooth problems need none of it
    import scipy.sparse

    n, m = len(a), len(b)
    ones = np.ones
    rows = np.concatenate([support.rows, np.arange(n), np.full(m, n), [n]])
    columns = np.concatenate([support.columns, np.full(n, m), np.arange(m), [m]])
    # POT leaves explicit zeros of a sparse matrix out: lift all costs by one, which moves only f
    costs = 1.0 + np.concatenate([support.costs, price * ones(n), price * ones(m), [0.0]])
    graph = scipy.sparse.coo_matrix((costs, (rows, columns)), shape=(n + 1, m + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result is checked by pricing
        plan, log = ot.emd(
            np.append(a, 1.0) / 2.0, np.append(b, 1.0) / 2.0, graph,
            numItermax=100_000_000, log=True, center_dual=False, check_marginals=False,
        )  # fmt: skip
    plan = scipy.sparse.coo_matrix(plan)
    inside = (plan.row < n) & (plan.col < m) & (plan.data > 0)
    basis = plan.row[inside].astype(np.int64) * m + plan.col[inside]
    mass = 2.0 * plan.data[inside]
    f, g = np.asarray(log["u"][:n]) - 1.0, np.asarray(log["v"][:m])
    return f, g, basis, mass, float(max(0.0, 1.0 - mass.sum()))


def _price(
    panels: Panels, f: FloatArray, g: FloatArray, a: FloatArray, b: FloatArray, slack: float
) -> Support:
    """The most violated pairs of every row and column."""
    device, m = panels.cost.device, len(b)
    wide = panels.cost.wide
    f_, g_ = torch.from_numpy(f).to(device, wide), torch.from_numpy(g).to(device, wide)
    found = PairList()
    best = torch.full((m,), -slack, dtype=panels.cost.dtype, device=device)
    best_row = torch.full((m,), -1, dtype=torch.int64, device=device)
    # what is found stays, between whatever a piece takes: used again, that leaves no holes
    lowest, row = torch.empty_like(best), torch.empty_like(best_row)
    for part, reduced in panels.reduced(f_, g_):
        violated = (reduced < -slack).view(-1)
        count = int(violated.sum())
        if count == 0:
            continue
        if count > min(_PIECE_CAP, _ROW_CAP * len(reduced)):
            # early rounds: the best few of each row, the best of each column
            least, where = reduced.topk(min(_NEWCOMERS, m), dim=1, largest=False, sorted=False)
            rows = torch.arange(len(reduced), device=device)[:, None]
            flat = (rows * m + where)[least < -slack]
            torch.min(reduced, dim=0, out=(lowest, row))
            better = lowest < best
            torch.where(better, lowest, best, out=best)
            torch.where(better, row.add_(part.start), best_row, out=best_row)
        else:
            flat = violated.nonzero()[:, 0]
        found.add(flat + part.start * m, reduced.view(-1)[flat])
    chosen_columns = (best_row >= 0).nonzero()[:, 0]
    found.add(best_row[chosen_columns] * m + chosen_columns, best[chosen_columns])
    if len(found) == 0:
        return Support(np.empty(0, dtype=np.int64), np.empty(0), m)
    linear, values = found.arrays()
    rows_, columns_ = linear // m, linear % m
    # a heavy point needs at least as many partners as it has times their weight
    row_quota = _NEWCOMERS + np.ceil(2.0 * a / b.mean())
    column_quota = _NEWCOMERS + np.ceil(2.0 * b / a.mean())
    chosen = _first_in_group(rows_, values, row_quota)
    chosen |= _first_in_group(columns_, values, column_quota)
    costs = values + f[rows_] + g[columns_]
    return Support(linear[chosen], costs[chosen], m)


def _first_in_group(
    groups: IndexArray, values: FloatArray, quota: FloatArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each entry is among the ``quota`` smallest values of its group."""
    order = np.lexsort((values, groups))
    sorted_groups = groups[order]
    starts = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
    position = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order] = position < quota[sorted_groups]
    return chosen
