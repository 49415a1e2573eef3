"""The embeddings that the solver is measured on: three scales, three dimensions, any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np

REGIMES = {"smooth": "unit norm", "middle": "norm 4", "sharp": "raw"}


def load_embeddings(data: Path) -> np.ndarray:
    """Patch embeddings (patches, d), float32, from a .npy file."""
    return np.load(data).astype(np.float32)


def two_sets(embeddings, n, dimension, regime, seed=0):
    """Two disjoint sets of n samples, projected, scaled; jittered copies if need be."""
    rng = np.random.default_rng(seed)
    points = embeddings[rng.permutation(len(embeddings))]
    if dimension < points.shape[1]:
        projection = rng.standard_normal((points.shape[1], dimension)) / np.sqrt(dimension)
        points = points @ projection.astype(np.float32)
    copies = -(-2 * n // len(points))
    spread = 0.02 * float(points.std())
    jittered = [
        points + (spread * rng.standard_normal(points.shape)).astype(np.float32)
        for _ in range(copies - 1)
    ]
    points = np.concatenate([points, *jittered])[rng.permutation(copies * len(points))][: 2 * n]
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    if regime == "smooth":
        points = points / norms
    elif regime == "middle":
        points = 4.0 * points / norms
    return np.ascontiguousarray(points[:n]), np.ascontiguousarray(points[n:])
