"""Sets of embeddings that were given, not computed here: what is checked of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.audio import Audit
from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.encoders.given import GIVEN
from otadtk.errors import AudioError, UsageError


def given_set(
    place: Path,
    vectors: NDArray[np.float32],
    *,
    names: Sequence[str] | None = None,
    digests: Sequence[str] | None = None,
    audits: Sequence[Audit | None] | None = None,
    frames: str | None = None,
    rows: NDArray[np.float32] | None = None,
    row_counts: Sequence[int] = (),
) -> EmbeddingSet:
    """A set of vectors with what is known of them; equal rows count as equal clips.

    By ``frames`` the metric compares ``rows``, so many of each clip as ``row_counts`` says, or the
    vectors themselves where they are the frames.
    """
    if names is None:
        names = [str(i) for i in range(len(vectors))]
    if len(names) != len(vectors):
        raise AudioError(f"{place} has {len(names)} names for {len(vectors)} embeddings.")
    if digests is not None and len(digests) != len(vectors):
        raise AudioError(f"{place} has {len(digests)} digests for {len(vectors)} embeddings.")
    if digests is None:
        digests = [hashlib.sha256(row.tobytes()).hexdigest() for row in vectors]
    points = None if frames is None else vectors if rows is None else rows
    what = f"{len(vectors)} embeddings" if points is None else f"{len(points)} frames ({frames})"
    return EmbeddingSet(
        vectors=vectors,
        files=tuple(place / name for name in names),
        audits=tuple(audits) if audits is not None else (None,) * len(vectors),
        digests=tuple(digests),
        bad=(),
        encoded=0,
        frames=points,
        frame_counts=tuple(row_counts),
        note=f"{what} given by {place}",
    )


def check_vectors(array: NDArray[Any], place: Path, spec: EncoderSpec) -> NDArray[np.float32]:
    """The array as float32, if it can be embeddings ``(n, d)`` of that encoder."""
    if array.dtype.kind not in "fiu" or array.ndim != 2 or 0 in array.shape:
        raise AudioError(
            f"{place} must hold embeddings of shape (clips, dimensions), "
            f"not {array.dtype} of shape {array.shape}."
        )
    if spec.dim and array.shape[1] != spec.dim:
        raise UsageError(
            f"{place} holds vectors of {array.shape[1]} dimensions, {spec.name!r} has {spec.dim}; "
            f"for embeddings of another encoder give the model {GIVEN.name!r}."
        )
    with np.errstate(over="ignore"):
        vectors = array.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise AudioError(
            f"{place} has NaN, infinite or too large values in {len(bad)} of {len(vectors)} rows, "
            f"first in row {bad[0]}."
        )
    return vectors


def check_encoder(place: Path, fingerprint: str, spec: EncoderSpec, model: str = "") -> None:
    """Nothing, if the embeddings are of exactly this encoder; else a UsageError."""
    if spec.name == GIVEN.name or fingerprint == spec.fingerprint:
        return
    made_by = f"by {model!r}" if model else "by another encoder"
    advice = f"Score with {model!r}, or make it anew" if model else "Make it anew"
    if model == spec.name:
        made_by = f"by another version of {model!r} (weights or preprocessing differ)"
        advice = "Make it anew"
    raise UsageError(
        f"{place} was made {made_by}, not by this {spec.name!r}: fingerprint "
        f"{fingerprint[:12]!r} and not {spec.fingerprint[:12]!r}. {advice} from the audio."
    )
