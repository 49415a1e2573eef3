"""The transport between two sets of embeddings: through the adapter, with progress and forecast."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.adapter.network import Adapter
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.distances.transport.backend import HERE, Backend
from otadtk.distances.transport.couplings import TransportResult, TransportSettings, transport
from otadtk.distances.transport.memory import forecast
from otadtk.distances.transport.result import Coupling, Divergence
from otadtk.engine import Engine, LocalEngine
from otadtk.engine.progress import progress_bar
from otadtk.metrics.ground import adapt
from otadtk.metrics.memory import usable_memory

if TYPE_CHECKING:
    from otadtk.metrics.base import Array

logger = logging.getLogger(__name__)

_LONG_PAIRS = 25_000_000
"""Pairs from which on a forecast is worth a line: 5,000 clips a side."""
_BAR_DELAY = 2.0
"""Seconds after which a transport that is still running shows a progress bar."""


@overload
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = DEFAULT_EPSILON,
    return_sample_costs: Literal[False] = False,
    device: str | None = None,
) -> float: ...
@overload
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = DEFAULT_EPSILON,
    return_sample_costs: Literal[True],
    device: str | None = None,
) -> tuple[float, NDArray[np.float64]]: ...
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = DEFAULT_EPSILON,
    return_sample_costs: bool = False,
    device: str | None = None,
) -> float | tuple[float, NDArray[np.float64]]:
    """The OTAD of two sets of embeddings, and with ``return_sample_costs`` the costs c_j too.

    Both arrays have one clip in each row: shapes (N, d) and (M, d). The costs c_j = Σ_i T_ij C_ij have
    shape (M,); they sum to ⟨T, C⟩, the cost before debiasing. The unit is that of the vectors, squared.

    Raises:
        UsageError: Arrays of other shapes, NaN, no clips, or an ε that is not above 0.

    Examples:
        >>> import numpy as np
        >>> from otadtk import compute_otad
        >>> x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
        >>> round(compute_otad(x, x + 1.0), 4)
        4.0
        >>> score, costs = compute_otad(x, x + 1.0, return_sample_costs=True)
        >>> costs.shape
        (50,)
    """
    settings = TransportSettings(epsilon=epsilon)
    divergence = solve(
        embeddings_ref, embeddings_test, adapter, settings, device, engine=LocalEngine()
    )
    for note in divergence.notes:
        logger.warning("%s", note)
    if return_sample_costs:
        return divergence.value, divergence.cj
    return divergence.value


def solve(
    ref: Array,
    test: Array,
    adapter: Adapter | None,
    settings: TransportSettings,
    device: str | None,
    reference_term: Coupling | None = None,
    *,
    engine: Engine,
) -> TransportResult:
    """The result of the solver in the space of the adapter; a long run is announced in the log."""
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, engine.workers))  # as many as the user allows
    try:
        return _solve(ref, test, adapter, settings, device, reference_term, engine)
    finally:
        torch.set_num_threads(threads)


def _solve(
    ref: Array,
    test: Array,
    adapter: Adapter | None,
    settings: TransportSettings,
    device: str | None,
    reference_term: Coupling | None,
    engine: Engine,
) -> TransportResult:
    x, y = adapt([ref, test], adapter, device)
    settings = replace(settings, max_memory=usable_memory(settings.max_memory))
    if settings.coupling == "sinkhorn" and x.ndim == 2 and len(x) * len(y) >= _LONG_PAIRS:
        expected = forecast(len(x), len(y), x.shape[1], max_memory=settings.max_memory)
        how, seconds = "in tiles" if expected.streaming else "in memory", expected.seconds
        if engine.distributed and expected.streaming:
            how = f"in tiles on {engine.workers} workers"
            seconds *= torch.get_num_threads() / engine.workers
        logger.info(
            "coupling %d and %d clips %s: about %.0f s and %.1f GB",
            len(x),
            len(y),
            how,
            seconds,
            expected.bytes / 1e9,
        )
    with progress_bar(desc="transport", unit=" iterations", delay=_BAR_DELAY) as bar:

        def progress(term: str, iteration: int, error: float) -> None:
            bar.set_description(f"transport {term}, marginal error {error:.0e}", refresh=False)
            bar.update()

        backend: Backend = HERE
        if engine.distributed:
            from otadtk.distances.distributed.backend import EngineBackend

            backend = EngineBackend(engine)
        return transport(x, y, settings, progress, reference_term, backend=backend)


def certificate_record(result: TransportResult) -> dict[str, Any]:
    """What the JSON document says of how exact a transport cost is."""
    facts: dict[str, Any] = {
        "description": result.describe(),
        "converged": result.converged,
        "notes": list(result.notes),
    }
    if isinstance(result, Divergence):
        cross = result.xy
        facts.update(
            epsilon=result.epsilon,
            epsilon_scale=result.epsilon_scale,
            error_bar=result.error_bar,
            duality_gap=cross.gap,
            marginal_error=cross.row_error + cross.column_error,
            iterations=cross.iterations,
            regime=cross.regime,
            terms={name: getattr(result, name).value for name in ("xy", "xx", "yy")},
        )
        return facts
    from otadtk.distances.transport.exact import ExactTransport

    if isinstance(result, ExactTransport):
        facts["duality_gap"] = result.gap
    return facts
