"""A mean and a covariance in place of a set: all that FAD needs of a reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.encoders.given import GIVEN
from otadtk.errors import AudioError, UsageError
from otadtk.sources.names import FADTK_NAMES, KADTK_NAMES, plain_name

_STATISTICS = {"stats": ("fadtk", FADTK_NAMES), "fad_stats": ("kadtk", KADTK_NAMES)}
_COVARIANCES = ("cov", "sigma")
Moments = tuple[NDArray[Any], NDArray[Any]]


def find_moments(
    path: Path, arrays: Mapping[str, NDArray[Any]], spec: EncoderSpec, frames: str | None
) -> Moments | None:
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


def check_statistics_folder(place: Path, spec: EncoderSpec, frames: str | None) -> None:
    """Nothing, unless kadtk or fadtk wrote the folder for another model or for frames not asked for.

    They keep them as ``stats/<model>`` (fadtk) and ``fad_stats/<model>`` (kadtk).
    """
    tool, names = _STATISTICS.get(place.absolute().parent.name, ("", {}))
    if not tool or spec.name == GIVEN.name:
        return
    name = names.get(plain_name(spec))
    if place.name != name:
        raise UsageError(
            f"{place} has statistics of {tool}'s {place.name!r}, not of {plain_name(spec)!r} "
            f"({name or f'{tool} has no such model'})."
        )
    _check_frames(place, tool, frames)


def _check_frames(place: Path, tool: str, frames: str | None) -> None:
    if frames != tool:
        raise UsageError(f"{place} has statistics of {tool}'s frames: add --frames {tool}.")


def moments_set(
    place: Path, mean: NDArray[Any], covariance: NDArray[Any], spec: EncoderSpec
) -> EmbeddingSet:
    """A set without clips whose ``frames`` have exactly this mean and this unbiased covariance.

    With Σ = Σ_k l_k l_kᵀ these are the 2 d points μ ± √((2d−1)/2) l_k.
    """
    d = mean.size
    if mean.shape != (d,) or covariance.shape != (d, d) or d == 0 or mean.dtype.kind not in "fiu":
        raise AudioError(
            f"{place} must hold a mean (d,) and a covariance (d, d), "
            f"not {mean.shape} and {covariance.shape}."
        )
    if spec.dim and d != spec.dim:
        raise UsageError(f"{place} has {d} dimensions, {spec.name!r} has {spec.dim}.")
    if covariance.dtype.kind not in "fiu":
        raise AudioError(f"{place} has a covariance of {covariance.dtype}, not of numbers.")
    mean, covariance = mean.astype(np.float64), covariance.astype(np.float64)
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise AudioError(f"{place} has NaN or infinite values.")
    scale = float(np.abs(covariance).max())
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    if np.abs(covariance - covariance.T).max() > 1e-3 * scale or values.min() < -1e-3 * scale:
        raise AudioError(f"{place} has a matrix that is not a covariance.")
    factor = vectors * np.sqrt(values.clip(min=0.0) * (2 * d - 1) / 2)
    return EmbeddingSet(
        vectors=np.zeros((0, d), dtype=np.float32),
        files=(),
        audits=(),
        digests=(),
        bad=(),
        encoded=0,
        frames=np.concatenate([mean + factor.T, mean - factor.T]),
        note=f"mean and covariance given by {place}",
        moments_only=True,
    )
