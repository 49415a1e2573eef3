"""Theorem 1 on Gaussians of known effective rank: both bounds and the exponents of their ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from otadtk.distances.transport.exact import exact_transport
from otadtk.experiments.rows import Row, column, distinct, select
from otadtk.experiments.table import Table, percent

Spectrum = NDArray[np.float64]
PART = "theorem"
C1_SMALL = 0.25
"""c₁ of Eq. (24)."""


@dataclass(frozen=True)
class TheoremConfig:
    """The spectra, the outliers and the samples."""

    dimension: int = 128
    effective_ranks: tuple[float, ...] = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
    """Spiked spectra: one large eigenvalue, all others equal; the last one is flat."""
    powers: tuple[float, ...] = (2.0, 1.0, 0.5)
    """Power spectra: λ_i = i^−p."""
    rates: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2)
    amplitude: float = 5.0
    """c₀ = L/σ_max."""
    samples: int = 400
    draws: int = 10
    seed: int = 0


def spectra(config: TheoremConfig) -> list[tuple[str, Spectrum]]:
    """All spectra, scaled to a largest eigenvalue of 1, so that r_eff is the sum."""
    d = config.dimension
    spiked = [
        ("spiked", np.concatenate([[1.0], np.full(d - 1, (rank - 1.0) / (d - 1))]))
        for rank in config.effective_ranks
    ]
    return spiked + [("power", np.arange(1, d + 1.0) ** -p) for p in config.powers]


def population_fad(spectrum: Spectrum, rate: float, amplitude: float) -> float:
    """FAD(μ, ν) of the population moments, Eq. (16)."""
    length_squared = amplitude**2 * spectrum[0]
    leading = np.sqrt((1 - rate) * spectrum[0] + rate * (1 - rate) * length_squared)
    shrunk = (1 - np.sqrt(1 - rate)) ** 2 * spectrum[1:].sum()
    return float(rate**2 * length_squared + (np.sqrt(spectrum[0]) - leading) ** 2 + shrunk)


def fad_bound(spectrum: Spectrum, rate: float, amplitude: float) -> float:
    """The bound (i): ε²(C₁L² + T/2) with C₁ = 2 + c₀² of Eq. (19)."""
    length_squared = amplitude**2 * spectrum[0]
    return float(rate**2 * ((2 + amplitude**2) * length_squared + 0.5 * spectrum.sum()))


def sample(
    config: TheoremConfig, family: str, spectrum: Spectrum, number: int, draw: int
) -> list[Row]:
    """One draw at every rate: the bounds, Eq. (20), and W₂² with and without twins."""
    rng = np.random.default_rng([config.seed, number, draw])
    n, deviations = config.samples, np.sqrt(spectrum)
    reference = rng.standard_normal((n, len(spectrum))) * deviations
    independent = rng.standard_normal((n, len(spectrum))) * deviations
    outlier = np.zeros(len(spectrum))
    outlier[0] = config.amplitude * deviations[0]
    nearest = np.sort(np.square(reference - outlier).sum(axis=1))
    rows: list[Row] = []
    for rate in config.rates:
        count = int(np.ceil(rate * n))
        others, twins = independent.copy(), reference.copy()
        others[:count] = twins[:count] = outlier
        rows.append(
            {
                "part": PART,
                "family": family,
                "effective_rank": float(spectrum.sum() / spectrum[0]),
                "rate": rate,
                "seed": draw,
                "fad": population_fad(spectrum, rate, config.amplitude),
                "fad_bound": fad_bound(spectrum, rate, config.amplitude),
                "w2": exact_transport(reference, others).value,
                "w2_twins": exact_transport(reference, twins).value,
                "nearest_sum": float(nearest[:count].sum() / n),
                "w2_bound": C1_SMALL * rate * float(spectrum.sum()),
            }
        )
    return rows


def theorem_tables(rows: list[Row]) -> list[Table]:
    """Where the bounds hold, and the exponents beside those of Theorem 1 and Corollary 1."""
    return [_bounds(rows), _exponents(rows)] if rows else []


def _bounds(rows: list[Row]) -> Table:
    cells = []
    for family in distinct(rows, "family"):
        for rank in distinct(select(rows, family=family), "effective_rank"):
            own = select(rows, family=family, effective_rank=rank)
            fad, bound = column(own, "fad"), column(own, "fad_bound")
            shares = [
                [
                    float(np.mean(column(at, name) >= column(at, "w2_bound")))
                    for at in (select(own, rate=rate) for rate in distinct(own, "rate"))
                ]
                for name in ("w2", "w2_twins", "nearest_sum")
            ]
            cells.append(
                [
                    f"{family}, r = {float(rank):.3g}",
                    "yes" if np.all(fad <= bound) else "no",
                    f"{(fad / bound).min():.3f}–{(fad / bound).max():.3f}",
                    *(percent(min(share), 0) for share in shares),
                ]
            )
    return Table(
        "Theorem 1 on Gaussians of known effective rank r: (i) on the population moments; (ii) the "
        "share of draws with W₂² ≥ εT/4, the minimum over ε, for independent samples, for samples "
        "that share their clean points, and for the sum of Eq. (20) alone",
        ["spectrum", "(i) holds", "FAD/bound", "(ii) independent", "(ii) twins", "(ii) Eq. (20)"],
        cells,
    )


def exponents(rows: list[Row], denominator: str) -> tuple[float, float]:
    """(p, q) in FAD/denominator ≈ c · ε^p · r^q on spiked spectra, from means over draws."""
    points = []
    for rank in distinct(rows, "effective_rank"):
        for rate in distinct(rows, "rate"):
            own = select(rows, effective_rank=rank, rate=rate)
            ratio = column(own, "fad").mean() / column(own, denominator).mean()
            points.append((np.log(float(rate)), np.log(float(rank)), np.log(ratio)))
    return _fit(np.array(points))


def _corollary(rows: list[Row]) -> tuple[float, float]:
    """(p, q) of Corollary 1: the ratio of the bounds (i) and (ii)."""
    points = [
        (
            np.log(float(row["rate"])),
            np.log(float(row["effective_rank"])),
            np.log(float(row["fad_bound"]) / float(row["w2_bound"])),
        )
        for row in rows
    ]
    return _fit(np.array(points))


def _fit(points: NDArray[np.float64]) -> tuple[float, float]:
    if min(len(np.unique(points[:, 0])), len(np.unique(points[:, 1]))) < 2:
        return float("nan"), float("nan")
    design = np.column_stack([points[:, :2], np.ones(len(points))])
    solution = np.linalg.lstsq(design, points[:, 2], rcond=None)[0]
    return float(solution[0]), float(solution[1])


def _exponents(rows: list[Row]) -> Table:
    spiked = select(rows, family="spiked")
    flat = [row for row in spiked if float(row["effective_rank"]) >= 16]
    peaked = [row for row in spiked if float(row["effective_rank"]) < 16]
    names = {
        "nearest_sum": "FAD / Eq. (20)",
        "w2_twins": "FAD / W₂², twins",
        "w2": "FAD / W₂², independent samples",
    }
    cells = []
    for denominator, name in names.items():
        low, high = exponents(peaked, denominator), exponents(flat, denominator)
        cells.append([f"{name}, measured", *(f"{v:+.2f}" for v in (*low, *high))])
    low, high = _corollary(peaked), _corollary(flat)
    cells.append(["bound of Corollary 1", *(f"{v:+.2f}" for v in (*low, *high))])
    cells.append(["O(ε/r) of Theorem 1, flat spectrum", "", "", "+1.00", "-1.00"])
    return Table(
        "Exponents of the ratio FAD/W₂² ≈ c · ε^p · r^q on spiked spectra, fitted below and above "
        "effective rank 16",
        ["ratio", "p, r < 16", "q, r < 16", "p, r ≥ 16", "q, r ≥ 16"],
        cells,
    )
