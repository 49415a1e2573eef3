"""The certified Sinkhorn divergence between two sets of embeddings."""

from __future__ import annotations

import time
from dataclasses import replace

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.costs.duplicates import MergedCloud, merge_duplicates
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import SquaredCost, working_dtype
from otadtk.distances.transport.backend import HERE, Backend
from otadtk.distances.transport.certificate.plan import Progress, no_progress
from otadtk.distances.transport.legacy import COMPAT, legacy_coupling
from otadtk.distances.transport.memory import memory_budget
from otadtk.distances.transport.result import Coupling, Divergence, DivergenceKind, EpsilonScale
from otadtk.distances.transport.shares import EntropicShares, PlanShares
from otadtk.distances.transport.solve import Coupler
from otadtk.distances.validate import (
    as_points,
    as_weights,
    check_epsilon,
    check_pair,
    check_positive,
)
from otadtk.errors import UsageError

_TOLERANCE, _MAX_ITERATIONS = 1e-5, 1000
_WIDEST_OF_VALUE, _WIDEST_OF_TRANSPORT = 0.1, 0.01
"""An error bar beyond this part of the value, and of ⟨T, C⟩ between the sets, is not converged."""
_NEGLIGIBLE = 1e-9
"""Unless it is below this part of ε: sets that are equal but for rounding are at distance 0."""


def sinkhorn_divergence(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    epsilon: float = 0.1,
    epsilon_scale: EpsilonScale = "absolute",
    divergence: DivergenceKind = "sharp",
    weights_x: ArrayLike | Tensor | None = None,
    weights_y: ArrayLike | Tensor | None = None,
    tolerance: float = _TOLERANCE,
    max_iterations: int = _MAX_ITERATIONS,
    max_memory: int | None = None,
    potentials: bool = False,
    reference_term: Coupling | None = None,
    compat: str | None = None,
    progress: Progress | None = None,
    backend: Backend = HERE,
) -> Divergence:
    """S_ε(x, y) = OT(x, y) − ½ OT(x, x) − ½ OT(y, y), with a certificate for each term.

    ``x`` (N, d) is the reference, ``y`` (M, d) the evaluated set; the cost is ‖x − y‖². The
    default ``divergence="sharp"`` takes ⟨T, C⟩ for OT, as the published package does;
    ``"entropic"`` takes the full OT_ε of Feydy et al. (2019). ``epsilon`` is absolute, or a
    multiple of the mean or median cost between the sets. ``tolerance`` is the relative duality
    gap that counts as converged; ``max_memory`` bounds the bytes above the inputs;
    ``potentials`` keeps those of each term, and with the clouds the columns of the plan (``shares``);
    ``reference_term`` is ``xx`` of an earlier result for the same ``x`` and ``epsilon``;
    ``progress(term, iteration, marginal_error)`` is called now and then. The ``backend`` makes
    the kernels of smooth problems.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 8))
    >>> result = sinkhorn_divergence(x, x + 1.0)
    >>> round(result.value, 6), result.converged
    (8.0, True)
    """
    started = time.perf_counter()
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    epsilon, tolerance = check_positive(epsilon, "epsilon"), check_positive(tolerance, "tolerance")
    _check_choice(divergence, ("sharp", "entropic"), "divergence")
    _check_choice(epsilon_scale, ("absolute", "mean_cost", "median_cost"), "epsilon_scale")
    a, b = as_weights(weights_x, len(x_), "weights_x"), as_weights(weights_y, len(y_), "weights_y")
    report = progress or no_progress
    if epsilon_scale != "absolute":
        epsilon *= cost_scale(SquaredCost(x_, y_), a, b, epsilon_scale)
    cloud_x, cloud_y = merge_duplicates(x_, a), merge_duplicates(y_, b)
    settings = (epsilon, tolerance, int(max_iterations), max_memory, report, backend)
    coupler = _coupler(cloud_x, cloud_y, *settings)
    between = coupler.cost(cloud_x, cloud_y)
    check_epsilon(epsilon, between.largest(), entropic=divergence == "entropic")
    if compat is not None:
        _check_choice(compat, (COMPAT,), "compat")
        if weights_x is not None or weights_y is not None:
            raise UsageError(f"compat={compat!r} knows uniform weights only.")
        pairs = ((x_, y_), (x_, x_), (y_, y_))
        xy, xx, yy = (legacy_coupling(p, q, epsilon, tolerance) for p, q in pairs)
        held = 6 * 4 * max(len(x_), len(y_)) ** 2
        shares = _shares(xy, x_, y_, a, epsilon) if potentials else None
        return assemble(
            xy, xx, yy, divergence, epsilon, epsilon_scale, started, held, compat, shares
        )
    same = _equal(cloud_x, cloud_y)
    known = None if same else reference_term
    if not same:
        xy = coupler.couple(cloud_x, cloud_y, "xy", between)
    del between  # before the next costs take its place in memory
    if known is None:
        xx = coupler.couple(cloud_x, cloud_x, "xx")
    if same:
        xy = yy = xx
    else:
        yy = coupler.couple(cloud_y, cloud_y, "yy")
    xx = known or _expand(xx, cloud_x, cloud_x, potentials)
    yy = _expand(yy, cloud_y, cloud_y, potentials)
    xy = _expand(xy, cloud_x, cloud_y, potentials)
    shares = _shares(xy, x_, y_, a, epsilon) if potentials else None
    held = coupler.budget.forecast_bytes
    return assemble(
        xy, xx, yy, divergence, epsilon, epsilon_scale, started, held, shares=shares, same=same
    )


def sinkhorn_coupling(
    x: ArrayLike | Tensor, y: ArrayLike | Tensor, *, epsilon: float = 0.1
) -> Coupling:
    """OT_ε(x, y) alone, the term ``xy`` of the divergence: a third of the work where costs suffice."""
    x_, y_ = as_points(x, "x"), as_points(y, "y")
    check_pair(x_, y_)
    cloud_x = merge_duplicates(x_, as_weights(None, len(x_), "weights_x"))
    cloud_y = merge_duplicates(y_, as_weights(None, len(y_), "weights_y"))
    settings = (check_positive(epsilon, "epsilon"), _TOLERANCE, _MAX_ITERATIONS, None, no_progress)
    coupler = _coupler(cloud_x, cloud_y, *settings)
    cost = coupler.cost(cloud_x, cloud_y)
    check_epsilon(coupler.epsilon, cost.largest(), entropic=False)
    return _expand(coupler.couple(cloud_x, cloud_y, "xy", cost), cloud_x, cloud_y, False)


def _coupler(
    x: MergedCloud,
    y: MergedCloud,
    epsilon: float,
    tolerance: float,
    max_iterations: int,
    max_memory: int | None,
    report: Progress,
    backend: Backend = HERE,
) -> Coupler:
    size, d = max(len(x.points), len(y.points)), x.points.shape[1]
    dtype = working_dtype(size, size, d, x.points.device)
    item = torch.empty((), dtype=dtype).element_size()
    budget = memory_budget(size, size, d, item, max_memory)
    return Coupler(epsilon, tolerance, max_iterations, budget, dtype, report, backend=backend)


def assemble(
    xy: Coupling,
    xx: Coupling,
    yy: Coupling,
    divergence: DivergenceKind,
    epsilon: float,
    epsilon_scale: EpsilonScale,
    started: float,
    forecast_bytes: int,
    compat: str | None = None,
    shares: PlanShares | None = None,
    same: bool = False,
) -> Divergence:
    """The divergence of three solved terms, with its error bar and notes.

    Two sets that are the ``same`` are at distance 0 exactly, whatever the error of a term.
    """
    if divergence == "sharp":
        value = xy.value - 0.5 * (xx.value + yy.value)
        error_bar = xy.value_error + 0.5 * (xx.value_error + yy.value_error)
    else:
        terms = [0.5 * (term.primal + term.dual) for term in (xy, xx, yy)]
        value = terms[0] - 0.5 * (terms[1] + terms[2])
        error_bar = sum(
            weight * (0.5 * abs(term.primal - term.dual) + term.cost_rounding)
            for term, weight in ((xy, 1.0), (xx, 0.5), (yy, 0.5))
        )
    error_bar = 0.0 if same else error_bar
    clear = error_bar <= max(
        _WIDEST_OF_VALUE * abs(value), _WIDEST_OF_TRANSPORT * xy.value, _NEGLIGIBLE * epsilon
    )
    return Divergence(
        value=value,
        divergence=divergence,
        xy=xy,
        xx=xx,
        yy=yy,
        epsilon=epsilon,
        epsilon_scale=epsilon_scale,
        error_bar=error_bar,
        seconds=time.perf_counter() - started,
        forecast_bytes=forecast_bytes,
        converged=clear and xy.converged and xx.converged and yy.converged,
        compat=compat,
        notes=_notes(xy, xx, yy, epsilon, compat, None if clear else error_bar),
        shares=shares,
    )


def _shares(xy: Coupling, x: Tensor, y: Tensor, a: Tensor, epsilon: float) -> PlanShares:
    """The columns of the plan between the two sets."""
    assert xy.potentials is not None
    return EntropicShares(x, y, a, xy.potentials[0], epsilon)


def _notes(
    xy: Coupling,
    xx: Coupling,
    yy: Coupling,
    epsilon: float,
    compat: str | None,
    too_wide: float | None,
) -> tuple[str, ...]:
    """What a reader should know; ``too_wide`` is an error bar that leaves the value open."""
    notes = []
    self_terms = 0.5 * (xx.value + yy.value)
    several = len(xx.row_costs) > 1 or len(yy.row_costs) > 1
    if several and xy.value > 0 and self_terms < 0.01 * xy.value and xy.value > epsilon:
        notes.append(
            f"epsilon = {epsilon:.4g} is so small against the costs that debiasing does nothing "
            f"(self terms {self_terms:.3g}, cross term {xy.value:.3g}): two samples of one "
            f"distribution will score far from 0; an epsilon above the costs mostly tells sets "
            f"apart better (--epsilon 3 --epsilon-scale median_cost)."
        )
    worst = max((xy, "xy"), (xx, "xx"), (yy, "yy"), key=lambda pair: pair[0].gap)
    if compat is not None:
        notes.append(f"The unconverged arithmetic of {compat} was reproduced on request.")
    elif not (xy.converged and xx.converged and yy.converged):
        notes.append(
            f"Not converged: the relative duality gap of {worst[1]} is {worst[0].gap:.1e}; try a "
            f"larger epsilon (--epsilon), or in Python sinkhorn_divergence with more "
            f"max_iterations or a looser tolerance."
        )
    elif too_wide is not None:
        notes.append(
            f"Not converged: the error bar of {too_wide:.1e} is too wide for the value; try a larger "
            f"epsilon (--epsilon), or in Python sinkhorn_divergence with a smaller tolerance."
        )
    return tuple(notes)


def cost_scale(cost: Cost, a: Tensor, b: Tensor, kind: EpsilonScale) -> float:
    """The mean or median cost between the sets; an error where it is zero."""
    scale = cost.mean(a, b) if kind == "mean_cost" else cost.median()
    if scale <= 0:
        raise UsageError(f"epsilon_scale={kind!r}: the {kind[:-5]} cost between the sets is zero.")
    return scale


def _equal(x: MergedCloud, y: MergedCloud) -> bool:
    """Whether the two clouds are the same measure, in the same order."""
    return torch.equal(x.points, y.points) and torch.equal(x.weights, y.weights)


def _expand(coupling: Coupling, x: MergedCloud, y: MergedCloud, potentials: bool) -> Coupling:
    """The coupling in terms of the original samples instead of the merged points."""
    pair = None
    if potentials and coupling.potentials is not None:
        pair = (x.repeat(coupling.potentials[0]), y.repeat(coupling.potentials[1]))
    return replace(
        coupling,
        row_costs=x.divide(coupling.row_costs),
        column_costs=y.divide(coupling.column_costs),
        potentials=pair,
    )


def _check_choice(value: str, choices: tuple[str, ...], name: str) -> None:
    if value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
