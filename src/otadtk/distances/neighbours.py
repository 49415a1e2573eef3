"""Nearest neighbours between two sets of vectors, when only close ones matter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_DIRECTIONS = 16
_CANDIDATES = 16
_SAMPLE = 512
_ROUNDING = 1e-6
_PRODUCT_ROUNDING = 1e-4
"""Of a squared distance by products in float32, relative to the squared norms: some 1e-6 are seen."""
_FEW_PAIRS = 1 << 18
"""So many are compared directly."""


def usual_nearest_distance(x: Vectors) -> float:
    """The median distance of a vector to its nearest neighbour in its own set; 0 for a single one."""
    if len(x) < 2:
        return 0.0
    size, (scaled,) = _scaled(x)
    centred = scaled - scaled.mean(axis=0)
    squares = np.square(centred).sum(axis=1)
    chosen = np.linspace(0, len(x) - 1, min(_SAMPLE, len(x))).astype(int)  # each of them once
    sample = centred if len(chosen) == len(x) else centred[chosen]
    nearest = squares[chosen, None] + squares - 2.0 * (sample @ centred.T)
    nearest[np.arange(len(chosen)), chosen] = np.inf
    return size * float(np.sqrt(np.median(nearest.min(axis=1).clip(min=0.0))))


def nearest_within(x: Vectors, y: Vectors, radius: float) -> Iterator[tuple[int, int, float]]:
    """``(j, i, ‖y_j − x_i‖)`` for every y_j whose nearest x_i is closer than ``radius``.

    An orthogonal projection never lengthens a distance, so a tree over a few directions finds the
    candidates of 50,000 vectors in seconds; the full vectors decide. Equal vectors are always found.
    """
    if len(x) == 0 or len(y) == 0:
        return
    size, (x, y) = _scaled(x, y)
    centre = x.mean(axis=0)
    x, y = x - centre, y - centre
    spread = float(np.sqrt(np.square(x).sum(axis=1).mean() + np.square(y).sum(axis=1).mean()))
    radius = max(radius / size, _ROUNDING * spread)
    candidates = min(_CANDIDATES, len(x))
    if len(x) * len(y) <= _FEW_PAIRS:
        norms = [np.square(side).sum(axis=1) for side in (x, y)]
        squares = norms[0] + norms[1][:, None] - 2.0 * (y @ x.T)
        found = np.argpartition(squares, candidates - 1, axis=1)[:, :candidates]
        # what rounding may add to a distance does not keep one out that is near enough
        reach = radius**2 + _PRODUCT_ROUNDING * (norms[0].max() + norms[1])
        found[squares.min(axis=1) > reach, 0] = len(x)
    else:
        found = _in_tree(x, y, radius, candidates)
    for j in np.flatnonzero(found[:, 0] < len(x)):
        near = found[j][found[j] < len(x)]
        distances = np.linalg.norm(x[near] - y[j], axis=1)
        if distances.min() < radius:
            yield int(j), int(near[distances.argmin()]), size * float(distances.min())


def _scaled(*sets: Vectors) -> tuple[float, list[Vectors]]:
    """A power of two and the sets divided by it: squares of huge or tiny numbers leave float32."""
    largest = max(float(np.abs(x).max(initial=0.0)) for x in sets)
    size = 2.0 ** round(np.log2(largest)) if largest > 0.0 else 1.0
    return size, [x / np.float32(size) for x in sets]


def _in_tree(x: Vectors, y: Vectors, radius: float, candidates: int) -> NDArray[np.intp]:
    """Places of the nearest projections of x to each y; len(x) where there are fewer in the radius."""
    from scipy.spatial import cKDTree  # slow to import, and few vectors need none of it

    directions = np.eye(x.shape[1])
    if x.shape[1] > _DIRECTIONS:  # those in which the vectors vary most
        directions = np.linalg.eigh(x.T.astype(np.float64) @ x)[1][:, -_DIRECTIONS:]
    tree = cKDTree(x @ directions)
    _, found = tree.query(y @ directions, k=candidates, distance_upper_bound=radius)
    return np.reshape(found, (len(y), candidates))
