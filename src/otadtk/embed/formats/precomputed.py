"""Builds a set from precomputed embeddings, and checks them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.clip_audit import ClipAudit
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.encoders import EncoderSpec, get_spec
from otadtk.encoders.features.columns import columns_within
from otadtk.encoders.precomputed import GIVEN
from otadtk.encoders.wrappers import split_suffixes
from otadtk.errors import AudioError, UsageError


def precomputed_set(
    path: Path,
    vectors: NDArray[np.float32],
    *,
    names: Sequence[str] | None = None,
    digests: Sequence[str] | None = None,
    audits: Sequence[ClipAudit | None] | None = None,
    frames: str | None = None,
    rows: NDArray[np.float32] | None = None,
    row_counts: Sequence[int] = (),
) -> EmbeddingSet:
    """The set of the vectors at ``path``; without ``digests``, clips of equal vectors are equal.

    With ``frames`` (whose they are) a metric compares ``rows``, of which ``row_counts`` says how
    many belong to each clip. Without ``rows`` the vectors themselves are the frames.
    """
    if names is None:
        names = [str(i) for i in range(len(vectors))]
    if len(names) != len(vectors):
        raise AudioError(f"{path} has {len(names)} names for {len(vectors)} embeddings.")
    bad = [name for name in (*names, *(digests or ())) if not _is_text(name)]
    if bad:
        raise AudioError(f"{path} has a clip with the name {bad[0]!a}, which no output can hold.")
    if digests is not None and len(digests) != len(vectors):
        raise AudioError(f"{path} has {len(digests)} digests for {len(vectors)} embeddings.")
    if digests is None:
        digests = [hashlib.sha256(row.tobytes()).hexdigest() for row in vectors]
    points = None if frames is None else vectors if rows is None else rows
    what = f"{len(vectors)} embeddings" if points is None else f"{len(points)} frames ({frames})"
    return EmbeddingSet(
        vectors=vectors,
        files=tuple(path / name for name in names),
        audits=tuple(audits) if audits is not None else (None,) * len(vectors),
        digests=tuple(digests),
        bad=(),
        encoded=0,
        frames=points,
        frame_counts=tuple(row_counts),
        note=f"{what} given by {path}",
    )


def _is_text(name: str) -> bool:
    """Whether UTF-8 can hold a name; names of files may have other bytes (surrogateescape)."""
    try:
        return b"\0" not in name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def precomputed_clips(
    folder: Path, names: list[str], clips: list[NDArray[np.float32]], frames: str | None
) -> EmbeddingSet:
    """The set of clips that have one array each: a single row, or a row for each frame."""
    widths = {clip.shape[1] for clip in clips}
    if len(widths) > 1:
        raise AudioError(f"{folder} mixes embeddings of {' and '.join(map(str, sorted(widths)))}.")
    if frames is None:
        for name, clip in zip(names, clips, strict=True):
            if len(clip) > 1:
                raise UsageError(
                    f"{folder}: {name} has {len(clip)} frames, not one vector: compare by frames "
                    f"with --frames (FAD, KAD), or average them first."
                )
        return precomputed_set(folder, np.concatenate(clips), names=names)
    means = np.stack([clip.mean(axis=0) for clip in clips])
    return precomputed_set(
        folder,
        means,
        names=names,
        frames=frames,
        rows=np.concatenate(clips),
        row_counts=[len(clip) for clip in clips],
    )


def check_vectors(array: NDArray[Any], path: Path, spec: EncoderSpec) -> NDArray[np.float32]:
    """The array as float32, if it can be embeddings ``(n, d)`` of that encoder."""
    if array.dtype.kind not in "fiu" or array.ndim != 2 or 0 in array.shape:
        raise AudioError(
            f"{path} must hold embeddings of shape (clips, dimensions), "
            f"not {array.dtype} of shape {array.shape}."
        )
    if spec.dim and array.shape[1] != spec.dim:
        raise UsageError(
            f"{path} holds vectors of {array.shape[1]} dimensions, {spec.name!r} has {spec.dim}; "
            f"for embeddings of another encoder give the model {GIVEN.name!r}."
        )
    from otadtk.distances.validate import largest_value

    with np.errstate(over="ignore"):
        vectors = array.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise AudioError(
            f"{path} has NaN, infinite or too large values in {len(bad)} of {len(vectors)} rows, "
            f"first in row {bad[0]}."
        )
    largest = float(np.abs(vectors).max())
    if largest > largest_value(vectors.shape[1]):
        raise AudioError(
            f"{path} has values up to {largest:.3g}, and float32 cannot hold their squares: divide "
            f"the embeddings of both sets by one number, such as {largest:.0e}."
        )
    return vectors


def columns_for(
    path: Path, fingerprint: str, spec: EncoderSpec, model: str = ""
) -> slice | NDArray[np.int64]:
    """The columns of stored embeddings that are those of this encoder; a UsageError if none are.

    All of them, if this encoder made them. Some, if a model made them that has the vectors of
    this one among its own.
    """
    if spec.name == GIVEN.name or fingerprint == spec.fingerprint:
        return slice(None)
    within = _columns_of_wider(fingerprint, spec, model)
    if within is not None:
        return within
    made_by = f"by {model!r}" if model else "by another encoder"
    advice = f"Score with {model!r}, or make it anew" if model else "Make it anew"
    if model == spec.name:
        made_by = f"by another version of {model!r} (weights or preprocessing differ)"
        advice = "Make it anew"
    raise UsageError(
        f"{path} was made {made_by}, not by this {spec.name!r}: fingerprint "
        f"{fingerprint[:12]!r} and not {spec.fingerprint[:12]!r}. {advice} from the audio."
    )


def _columns_of_wider(fingerprint: str, spec: EncoderSpec, model: str) -> NDArray[np.int64] | None:
    """The columns of this encoder in the vectors of a model with features beside it."""
    if not split_suffixes(model)[1]:
        return None
    try:
        wide = get_spec(model)
    except UsageError:  # a custom encoder that is not registered here
        return None
    return columns_within(wide, spec) if wide.fingerprint == fingerprint else None
