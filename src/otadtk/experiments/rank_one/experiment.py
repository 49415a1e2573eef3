"""Response of each metric to rank-1 outliers (one point) and full-rank outliers (5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.distances.kernel import SCALE, kernel_distance
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.experiments.data import Points
from otadtk.experiments.measures import METRICS, measure
from otadtk.experiments.rank_one.figures import draw
from otadtk.experiments.rank_one.tables import FULL, MINUS, PLUS, tables
from otadtk.experiments.rank_one.theorem import TheoremConfig, sample, spectra
from otadtk.experiments.rows import Row
from otadtk.experiments.run import Experiment, Source, Task

if TYPE_CHECKING:
    from otadtk.experiments.data import Embedded


@dataclass(frozen=True)
class RankOneConfig:
    """Rates and draws, with the details that the paper leaves open.

    Outliers replace clean clips: the set keeps its size, and every other clip is in the reference
    too. σ = √λ₁. Rank-1 outliers lie at μ ± 5σ·v₁, full-rank ones are drawn from N(μ, λ₁I).
    """

    rates: tuple[float, ...] = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
    seeds: int = 3
    epsilon: float = DEFAULT_EPSILON
    deviations: float = 5.0
    permutations: int = 200
    """Of the pooled set, for the null distribution of KAD."""
    theorem: TheoremConfig = field(default=TheoremConfig())


QUICK = RankOneConfig(
    rates=(0.05, 0.2),
    seeds=1,
    permutations=20,
    theorem=replace(
        TheoremConfig(), dimension=16, effective_ranks=(2.0, 8.0, 16.0), powers=(1.0,),
        rates=(0.05, 0.2), samples=60, draws=2,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Principal:
    """Mean, largest eigenvalue, its unit vector (largest entry positive) and the trace."""

    mean: NDArray[np.float64]
    variance: float
    direction: NDArray[np.float64]
    trace: float


def principal(points: Points) -> Principal:
    """The moments from which outliers are made."""
    values = points.astype(np.float64)
    mean = values.mean(axis=0)
    eigenvalues, vectors = np.linalg.eigh(np.cov(values, rowvar=False))
    leading = vectors[:, -1]
    sign = np.sign(leading[np.argmax(np.abs(leading))])
    return Principal(mean, float(eigenvalues[-1]), sign * leading, float(eigenvalues.sum()))


def contaminate(
    points: Points,
    moments: Principal,
    condition: str,
    rate: float,
    seed: int,
    deviations: float = 5.0,
) -> Points:
    """A copy of the points with a share of them replaced by outliers."""
    rng = np.random.default_rng([seed, round(1e6 * rate)])
    count = max(1, round(rate * len(points)))
    replaced = rng.permutation(len(points))[:count]
    sigma = moments.variance**0.5
    contaminated = points.copy()
    if condition == FULL:
        outliers = moments.mean + sigma * rng.standard_normal((count, points.shape[1]))
    else:
        sign = 1.0 if condition == PLUS else -1.0
        outliers = moments.mean + sign * deviations * sigma * moments.direction
    contaminated[replaced] = outliers
    return contaminated


def kernel_null(x: Points, y: Points, sigma: float, count: int) -> NDArray[np.float64]:
    """KAD of ``count`` random splits of the pooled clips into two sets of these sizes."""
    pooled = torch.from_numpy(np.concatenate([x, y]))
    kernel = torch.cdist(pooled, pooled).square_().mul_(-0.5 / sigma**2).exp_()
    n, total = len(x), len(pooled)
    rng = np.random.default_rng(0)
    first = np.zeros((total, count), dtype=np.float32)
    for split in range(count):
        first[rng.permutation(total)[:n], split] = 1.0
    a = torch.from_numpy(first)
    b = 1.0 - a
    image_a, image_b = kernel @ a, kernel @ b
    m = total - n
    # subtract the diagonal of the kernel, n and m ones
    xx = ((a * image_a).sum(dim=0, dtype=torch.float64) - n) / (n * (n - 1))
    yy = ((b * image_b).sum(dim=0, dtype=torch.float64) - m) / (m * (m - 1))
    xy = (a * image_b).sum(dim=0, dtype=torch.float64) / (n * m)
    null: NDArray[np.float64] = (SCALE * (xx + yy - 2.0 * xy)).numpy()
    return null


def tasks(config: RankOneConfig, source: Source) -> list[Task]:
    """Every model, condition, rate and seed; then every draw of every synthetic spectrum."""
    found = []
    for model in source.request.models:
        own = source.embedded(model)
        for seed in range(config.seeds):
            for condition in (FULL, PLUS, MINUS):
                for rate in config.rates:
                    found.append(_task(config, own, condition, rate, seed))
    for number, (family, spectrum) in enumerate(spectra(config.theorem)):
        for turn in range(config.theorem.draws):
            found.append(
                Task(
                    f"theorem {number} {turn}",
                    lambda f=family, s=spectrum, n=number, t=turn: sample(  # type: ignore[misc]
                        config.theorem, f, s, n, t
                    ),
                )
            )
    return found


@lru_cache(maxsize=8)
def _clean(own: Embedded) -> tuple[Points, Principal]:
    points = own.clean()
    return points, principal(points)


def _task(config: RankOneConfig, own: Embedded, condition: str, rate: float, seed: int) -> Task:
    def compute() -> list[Row]:
        points, moments = _clean(own)
        evaluated = contaminate(points, moments, condition, rate, seed, config.deviations)
        rows: list[Row] = []
        for metric in METRICS:
            row: Row = {
                "part": "data",
                "model": own.model,
                "dimension": points.shape[1],
                "effective_rank": moments.trace / moments.variance,
                "condition": condition,
                "rate": rate,
                "seed": seed,
                "metric": metric,
            }
            if metric == "kad":
                result = kernel_distance(points, evaluated)
                null = kernel_null(points, evaluated, result.bandwidth, config.permutations)
                row["value"] = result.value
                row["null_deviation"] = float(null.std())
                row["p_value"] = float((1 + np.sum(null >= result.value)) / (1 + len(null)))
            else:
                row["value"] = measure(metric, points, evaluated, config.epsilon)
            rows.append(row)
        return rows

    return Task(f"{own.model} {condition} {rate} {seed}", compute)


EXPERIMENT = Experiment("rank-one", RankOneConfig(), QUICK, tasks, tables, draw)
