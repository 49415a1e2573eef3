"""Whether a set copies its training data: the test C_T, authenticity, nearest training points.

C_T is the data-copying test of Meehan, Chaudhuri and Dasgupta (AISTATS 2020) with one cell;
authenticity is that of Alaa et al. (ICML 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from otadtk.distances.costs.squared import SquaredCost, row_tiles
from otadtk.distances.validate import as_points, check_pair

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Nearest:
    """The nearest training point of every point, and its squared distance."""

    place: NDArray[np.intp]
    squared: FloatArray


def nearest(
    points: ArrayLike | Tensor, training: ArrayLike | Tensor, *, others: bool = False
) -> Nearest:
    """The nearest of ``training`` to each point; ``others``: the sets are one, and none is its own."""
    x, y = as_points(points, "points"), as_points(training, "training")
    check_pair(x, y)
    cost = SquaredCost(x, y)
    places, squared = [], []
    for part in row_tiles(len(x), len(y)):
        tile = cost.tile(part)
        if others:
            own = torch.arange(part.start, part.stop, device=tile.device)
            tile[own - part.start, own] = torch.inf
        least, place = tile.min(dim=1)
        places.append(place)
        squared.append(least)
    return Nearest(torch.cat(places).cpu().numpy(), torch.cat(squared).cpu().double().numpy())


def copying_test(held_out: FloatArray, generated: FloatArray) -> float:
    """C_T: the Mann-Whitney z-score of the distances to the training set.

    Far below 0 the generated points are nearer to it than held-out points are, which is copying;
    far above 0 they are farther away, which is underfitting.

    >>> import numpy as np
    >>> copying_test(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    0.0
    """
    n, m = len(held_out), len(generated)
    ordered = np.sort(held_out)
    below = np.searchsorted(ordered, generated, side="left").sum()
    ties = np.searchsorted(ordered, generated, side="right").sum() - below
    larger = float(below + 0.5 * ties)
    return (larger - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)


def authentic(generated: Nearest, training: Nearest) -> NDArray[np.bool_]:
    """Which generated points are farther from their training point than its nearest neighbour is."""
    found: NDArray[np.bool_] = generated.squared > training.squared[generated.place]
    return found
