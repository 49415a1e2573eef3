"""Clouds and oracles that the tests of the distances share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.moments import moments


def clouds(seed, n=40, m=35, d=5, scale=1.0, shift=0.5):
    """Two Gaussian clouds of different size, mean and spread."""
    rng = np.random.default_rng(seed)
    x = scale * rng.normal(size=(n, d))
    y = scale * (1.2 * rng.normal(size=(m, d)) + shift)
    return x, y


def fad_of(x, y):
    """The Fréchet distance of two sets of points."""
    return frechet_distance(moments(x), moments(y))


def long_run(x, y, epsilon):
    """(⟨T, C⟩, OT_ε, column costs) in float64 to 1e-9: annealed sweeps, then Newton steps."""
    cost = np.square(x[:, None] - y[None]).sum(axis=2)
    n, m = cost.shape
    f, g = np.zeros(n), np.zeros(m)
    annealed = max(cost.max(), epsilon)
    while True:
        for _ in range(50):
            f = -annealed * logsumexp((g - cost) / annealed - np.log(m), axis=1)
            g = -annealed * logsumexp((f[:, None] - cost) / annealed - np.log(n), axis=0)
        if annealed <= epsilon:
            break
        annealed = max(annealed / 1.5, epsilon)
    for _ in range(200):
        plan = np.exp((f[:, None] + g - cost) / epsilon) / (n * m)
        residual = 1 / n - plan.sum(axis=1)
        if np.abs(residual).sum() < 1e-11:
            break
        # columns are exact: Newton for f alone, and g follows
        hessian = np.diag(plan.sum(axis=1)) - m * plan @ plan.T
        move = epsilon * np.linalg.lstsq(hessian, residual, rcond=1e-14)[0]
        length = min(1.0, 2 * epsilon / np.abs(move - move.mean()).max())
        f = f + length * move
        g = -epsilon * logsumexp((f[:, None] - cost) / epsilon - np.log(n), axis=0)
    assert np.abs(residual).sum() < 1e-9, "the oracle itself must converge"
    return (plan * cost).sum(), f.mean() + g.mean(), (plan * cost).sum(axis=0)


seeds = st.integers(0, 10_000)
sizes = st.integers(1, 25)
dimensions = st.integers(1, 6)
# ε = 0.1 on these scales runs from C/ε ≈ 0.01 to 10⁵: every regime
scales = st.sampled_from([0.03, 0.3, 1.0, 4.0, 60.0])
