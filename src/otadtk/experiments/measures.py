"""The four metrics that the experiments compare, by name."""

from __future__ import annotations

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.moments import moments
from otadtk.distances.transport.exact import exact_transport
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.experiments.data import Points

METRICS = ("fad", "kad", "sinkhorn", "exact")


def measure(metric: str, x: Points, y: Points, epsilon: float) -> float:
    """The value of a metric of ``METRICS``; Sinkhorn (sharp) and exact use the cost ‖x − y‖²."""
    if metric == "fad":
        return frechet_distance(moments(x), moments(y))
    if metric == "kad":
        return kernel_distance(x, y).value
    if metric == "sinkhorn":
        return sinkhorn_divergence(x, y, epsilon=epsilon).value
    return exact_transport(x, y).value
