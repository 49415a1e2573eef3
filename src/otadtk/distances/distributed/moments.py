"""The moments of a large set over an engine: those of its shards, merged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from otadtk.distances.moments import Moments, merge, moments
from otadtk.distances.validate import as_points
from otadtk.engine import Engine

_SHARD = 8192
"""Points of a shard at least: below it one process is as fast as several."""
_MOST_SHARDS = 64
"""Each shard sends a covariance: a few dozen of them fit the memory of the driver."""


def moments_over(
    engine: Engine, points: ArrayLike | Tensor, name: str = "points", *, shard: int = _SHARD
) -> Moments:
    """``moments(points)``, computed by the engine where there are more points than in a shard."""
    array = as_points(points, name).cpu().numpy()
    shard = max(shard, -(-len(array) // _MOST_SHARDS))
    if len(array) <= shard:
        return moments(array, name)
    shards = [slice(start, start + shard) for start in range(0, len(array), shard)]
    parts = engine.map(partial(_moments_of_shard, array), shards, title="moments")
    return reduce(merge, parts)


def _moments_of_shard(points: NDArray[np.floating]) -> Callable[[slice], Moments]:
    return lambda rows: moments(points[rows])
