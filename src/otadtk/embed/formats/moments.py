"""A mean and a covariance in files: all that FAD needs of a set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.distances.moments import Moments
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.names import FADTK_NAMES, KADTK_NAMES, plain_name
from otadtk.encoders import EncoderSpec
from otadtk.encoders.precomputed import GIVEN
from otadtk.errors import AudioError, UsageError

_STATISTICS = {"stats": ("fadtk", FADTK_NAMES), "fad_stats": ("kadtk", KADTK_NAMES)}
_COVARIANCES = ("cov", "sigma")
MeanAndCovariance = tuple[NDArray[Any], NDArray[Any]]


def find_moments(
    path: Path, arrays: Mapping[str, NDArray[Any]], spec: EncoderSpec, frames: str | None
) -> MeanAndCovariance | None:
    """μ and Σ of an archive, under plain names or under fadtk's ``<model>.mu``; ``None`` without."""
    for covariance in _COVARIANCES:
        if "mu" in arrays and covariance in arrays:
            return arrays["mu"], arrays[covariance]
    models = sorted(name[:-3] for name in arrays if name.endswith(".mu"))
    if not models:
        return None
    name = FADTK_NAMES.get(plain_name(spec))
    if name is None or name not in models or f"{name}.cov" not in arrays:
        raise UsageError(
            f"{path} has no statistics of {plain_name(spec)!r} ({name or 'fadtk has no such model'}); "
            f"it has: {', '.join(models)}."
        )
    _check_frames(path, "fadtk", frames)
    return arrays[f"{name}.mu"], arrays[f"{name}.cov"]


def check_statistics_folder(path: Path, spec: EncoderSpec, frames: str | None) -> None:
    """A UsageError if kadtk or fadtk wrote the folder for another model, or frames are not asked for.

    They keep statistics as ``stats/<model>`` (fadtk) and ``fad_stats/<model>`` (kadtk).
    """
    tool, names = _STATISTICS.get(path.absolute().parent.name, ("", {}))
    if not tool or spec.name == GIVEN.name:
        return
    name = names.get(plain_name(spec))
    if path.name != name:
        raise UsageError(
            f"{path} has statistics of {tool}'s {path.name!r}, not of {plain_name(spec)!r} "
            f"({name or f'{tool} has no such model'})."
        )
    _check_frames(path, tool, frames)


def _check_frames(path: Path, tool: str, frames: str | None) -> None:
    if frames != tool:
        raise UsageError(f"{path} has statistics of {tool}'s frames: add --frames {tool}.")


_LARGEST = 1e100
"""The largest mean and standard deviation: float64 holds the fourth power of no larger ones."""


def moments_set(
    path: Path, mean: NDArray[Any], covariance: NDArray[Any], spec: EncoderSpec
) -> EmbeddingSet:
    """A set without clips, of this mean and this unbiased covariance."""
    d = mean.size
    if mean.shape != (d,) or covariance.shape != (d, d) or d == 0 or mean.dtype.kind not in "fiu":
        raise AudioError(
            f"{path} must hold a mean (d,) and a covariance (d, d), "
            f"not {mean.shape} and {covariance.shape}."
        )
    if spec.dim and d != spec.dim:
        raise UsageError(f"{path} has {d} dimensions, {spec.name!r} has {spec.dim}.")
    if covariance.dtype.kind not in "fiu":
        raise AudioError(f"{path} has a covariance of {covariance.dtype}, not of numbers.")
    mean, covariance = mean.astype(np.float64), covariance.astype(np.float64)
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise AudioError(f"{path} has NaN or infinite values.")
    scale = float(np.abs(covariance).max())
    if max(float(np.abs(mean).max()), scale**0.5) > _LARGEST:
        raise AudioError(f"{path} has values beyond {_LARGEST:g}, too large for a distance.")
    symmetric = (covariance + covariance.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    if np.abs(covariance - covariance.T).max() > 1e-3 * scale or values.min() < -1e-3 * scale:
        raise AudioError(f"{path} has a matrix that is not a covariance.")
    if values.min() < 0.0:  # rounding errors in the file
        symmetric = (vectors * values.clip(min=0.0)) @ vectors.T
    return EmbeddingSet(
        vectors=np.zeros((0, d), dtype=np.float32),
        files=(),
        audits=(),
        digests=(),
        bad=(),
        encoded=0,
        frames=np.zeros((0, d), dtype=np.float32),
        note=f"mean and covariance given by {path}",
        moments=Moments(None, mean, covariance=symmetric),
    )
