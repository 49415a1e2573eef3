"""The exact median of all pairwise distances, without all of them in memory."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from otadtk.distances.costs.pairs import PairDistances
from otadtk.distances.costs.protocol import Cost

SAMPLE = 1000
MARGIN = 0.01


def median_distance(pairs: PairDistances) -> float:
    """The lower median of ‖p_i − p_j‖ over i < j.

    A sample of rows brackets it; one pass counts the pairs below the bracket and keeps those
    inside; the answer is an order statistic of the kept ones. A bracket that missed is widened.
    """
    cost = pairs.cost
    rank = (pairs.count + 1) // 2  # the lower median, counted from 1
    margin = MARGIN if cost.shape[0] > SAMPLE else 1.0
    while True:
        low, high = bracket(cost, margin)
        below, inside = _count(pairs, low, high)
        if below < rank <= below + len(inside):
            return math.sqrt(order_statistic(inside, rank - below))
        margin = min(1.0, 4.0 * margin)


def order_statistic(values: Tensor, rank: int) -> float:
    """The value of that rank, counted from 1."""
    if values.device.type != "cpu":
        return float(values.kthvalue(rank).values)
    # torch's kthvalue on the CPU takes many times as long
    return float(np.partition(values.numpy(), rank - 1)[rank - 1])


def bracket(cost: Cost, margin: float) -> tuple[float, float]:
    """Squared distances between which the median should lie: quantiles ½ ± margin of a sample."""
    if margin >= 0.5:
        return -1.0, float("inf")
    n, _ = cost.shape
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(n, generator=generator)[:SAMPLE].to(cost.device)
    tile = cost.restricted(chosen, chosen).tile(slice(0, len(chosen)))
    upper = torch.triu_indices(len(chosen), len(chosen), offset=1, device=cost.device)
    values = tile[upper[0], upper[1]].sort().values
    low = int((0.5 - margin) * (len(values) - 1))
    high = int((0.5 + margin) * (len(values) - 1))
    return float(values[low]), float(values[high])


def _count(pairs: PairDistances, low: float, high: float) -> tuple[int, Tensor]:
    """(pairs i < j with d² < low, the d² of those in [low, high])."""
    below, inside = 0, []
    for tile in pairs.tiles(keep=True):  # the kernel will want them too
        below += int(torch.count_nonzero(tile < low))
        inside.append(tile[(tile >= low) & (tile <= high) & (tile < torch.inf)])
    return below, torch.cat(inside)
