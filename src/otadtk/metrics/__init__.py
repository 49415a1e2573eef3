"""OTAD, FAD and KAD: a ground metric and a distance behind one interface, on folders or arrays.

One file a metric: what it is, its options, its distance. ``registry`` finds them by name.
"""

from otadtk.metrics.base import AudioMetric, EmbeddingOptions, PathLike
from otadtk.metrics.entry import Measurement
from otadtk.metrics.fad import FAD, compute_fad
from otadtk.metrics.kad import KAD, compute_kad
from otadtk.metrics.otad import OTAD, IndividualResult

__all__ = [
    "FAD",
    "KAD",
    "OTAD",
    "AudioMetric",
    "EmbeddingOptions",
    "IndividualResult",
    "Measurement",
    "PathLike",
    "compute_fad",
    "compute_kad",
]
