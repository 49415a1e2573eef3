"""The transport cost of two sets of embeddings: through the adapter, with progress and notes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from otadtk.adapter.network import Adapter
from otadtk.device import resolve_device
from otadtk.distances.regime import forecast
from otadtk.distances.result import Coupling
from otadtk.distances.transport import TransportResult, TransportSettings, transport
from otadtk.engine import Engine
from otadtk.errors import UsageError
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
    epsilon: float = 0.1,
    return_sample_costs: Literal[False] = False,
    device: str | None = None,
) -> float: ...
@overload
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = 0.1,
    return_sample_costs: Literal[True],
    device: str | None = None,
) -> tuple[float, NDArray[np.float64]]: ...
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = 0.1,
    return_sample_costs: bool = False,
    device: str | None = None,
) -> float | tuple[float, NDArray[np.float64]]:
    """The OTAD of two sets of embeddings, and with ``return_sample_costs`` the costs c_j too.

    >>> import numpy as np
    >>> from otadtk import compute_otad
    >>> x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    >>> round(compute_otad(x, x + 1.0), 4)
    4.0
    """
    settings = TransportSettings(epsilon=epsilon)
    divergence = solve(embeddings_ref, embeddings_test, adapter, settings, device)
    if return_sample_costs:
        return divergence.value, divergence.cj
    return divergence.value


def adapted(
    sides: Sequence[Array], adapter: Adapter | None, device: str | None
) -> list[torch.Tensor]:
    """The sets as the ground metric sees them, on the device."""
    place = resolve_device(device)
    points = [torch.as_tensor(side).to(place) for side in sides]
    if adapter is None:
        return points
    adapter = adapter.to(place).eval()
    dimension = points[0].shape[-1]
    if dimension != adapter.input_dim:
        raise UsageError(
            f"The adapter is for d = {adapter.input_dim}, the embeddings have {dimension}."
        )
    with torch.inference_mode():
        return [adapter(side.float()) for side in points]


def solve(
    ref: Array,
    test: Array,
    adapter: Adapter | None,
    settings: TransportSettings,
    device: str | None,
    reference_term: Coupling | None = None,
    engine: Engine | None = None,
    name: str = "",
) -> TransportResult:
    """Adapter and divergence; what a reader of the number should know is logged as a warning."""
    x, y = adapted([ref, test], adapter, device)
    if settings.coupling == "sinkhorn" and x.ndim == 2 and len(x) * len(y) >= _LONG_PAIRS:
        expected = forecast(len(x), len(y), x.shape[1], max_memory=settings.max_memory)
        how, seconds = "in tiles" if expected.streaming else "in memory", expected.seconds
        if engine is not None and expected.streaming:
            how = f"in tiles on {engine.workers} workers"
            seconds *= torch.get_num_threads() / engine.workers
        logger.info(
            "coupling %d and %d clips %s: about %.0f s and %.1f GB",
            *(len(x), len(y), how, seconds, expected.bytes / 1e9),
        )
    with tqdm(desc="transport", unit=" iterations", delay=_BAR_DELAY, disable=None) as bar:

        def progress(term: str, iteration: int, error: float) -> None:
            bar.set_description(f"transport {term}, marginal error {error:.0e}", refresh=False)
            bar.update()

        result = transport(x, y, settings, progress, reference_term, engine)
    whose = f"{name}: " if name else ""
    for note in result.notes:
        logger.warning("%s%s", whose, note)
    return result
