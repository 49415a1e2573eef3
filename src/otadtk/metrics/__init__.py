"""OTAD, FAD and KAD: encoder, adapter and distance behind one interface, on folders or arrays."""

from otadtk.metrics.base import AudioMetric, EmbeddingOptions, Measurement, PathLike
from otadtk.metrics.fad import FAD, compute_fad
from otadtk.metrics.kad import KAD, compute_kad
from otadtk.metrics.otad import OTAD, IndividualResult
from otadtk.metrics.solve import compute_otad

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
    "compute_otad",
]
