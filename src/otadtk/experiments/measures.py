"""The four metrics that the experiments compare, by one name each."""

from __future__ import annotations

from otadtk.distances.exact import exact_transport
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.sinkhorn import sinkhorn_divergence
from otadtk.experiments.data import Points

METRICS = ("fad", "kad", "sinkhorn", "exact")


def measure(metric: str, x: Points, y: Points, epsilon: float) -> float:
    """FAD, KAD, the sharp Sinkhorn divergence or W₂², all of the cost ‖x − y‖²."""
    if metric == "fad":
        return frechet_distance(x, y)
    if metric == "kad":
        return kernel_distance(x, y).value
    if metric == "sinkhorn":
        return sinkhorn_divergence(x, y, epsilon=epsilon).value
    return exact_transport(x, y).value
