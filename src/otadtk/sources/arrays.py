"""Embeddings in numpy files: one array, several arrays with names, or a folder with one file a clip.

Nothing is unpickled, and no header is believed: a file must hold what it promises.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from otadtk.audio import CACHE_FOLDERS
from otadtk.embed import EmbeddingSet
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError, UsageError
from otadtk.sources.given import check_encoder, check_vectors, given_set
from otadtk.sources.moments import check_statistics_folder, find_moments, moments_set

_HEADERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}
EMBEDDINGS, NAMES, DIGESTS = "embeddings", "names", "digests"
MODEL, ENCODER = "model", "encoder"


def read_npy_file(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The rows of one array."""
    return given_set(path, check_vectors(load_npy(path), path, spec), frames=frames)


def read_npz_file(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The array ``embeddings`` with its ``names``, or a mean and a covariance."""
    arrays = load_npz(path)
    moments = find_moments(path, arrays, spec, frames)
    if moments is not None:
        return moments_set(path, *moments, spec)
    if ENCODER in arrays:
        check_encoder(path, str(arrays[ENCODER]), spec, str(arrays.get(MODEL, "")))
    wide = [name for name, array in arrays.items() if array.ndim == 2]
    key = EMBEDDINGS if EMBEDDINGS in arrays else wide[0] if len(wide) == 1 else None
    if key is None:
        raise AudioError(
            f"{path} has no array named {EMBEDDINGS!r}, and not just one of two dimensions; "
            f"it holds: {', '.join(sorted(arrays)) or 'nothing'}."
        )
    names, digests = (
        arrays[name].astype(str).ravel().tolist() if name in arrays else None
        for name in (NAMES, DIGESTS)
    )
    vectors = check_vectors(arrays[key], path, spec)
    return given_set(path, vectors, names=names, digests=digests, frames=frames)


def read_array_folder(place: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """One ``.npy`` file for each clip, a vector or, by frames, a row for each frame."""
    everything = sorted(place.rglob("*.npy"), key=lambda file: file.relative_to(place).parts)
    # what other tools keep beside audio: statistics too, which look like frames
    files = [f for f in everything if CACHE_FOLDERS.isdisjoint(f.relative_to(place).parts)]
    if not files:
        raise AudioError(
            f"{place} has no audio, only what other tools have cached: give the folder of one "
            f"model, such as {everything[0].parent}."
        )
    if [file.name for file in files] == ["cov.npy", "mu.npy"]:
        check_statistics_folder(place, spec, frames)
        covariance, mean = (load_npy(file) for file in files)
        return moments_set(place, mean, covariance, spec)
    clips = [check_vectors(np.atleast_2d(load_npy(file)), file, spec) for file in files]
    names = [str(file.relative_to(place).with_suffix("")) for file in files]
    return clips_set(place, names, clips, frames)


def clips_set(
    place: Path, names: list[str], clips: list[NDArray[np.float32]], frames: str | None
) -> EmbeddingSet:
    """The set of clips given as one array each."""
    widths = {clip.shape[1] for clip in clips}
    if len(widths) > 1:
        raise AudioError(f"{place} mixes embeddings of {' and '.join(map(str, sorted(widths)))}.")
    if frames is None:
        for name, clip in zip(names, clips, strict=True):
            if len(clip) > 1:
                raise UsageError(
                    f"{place}: {name} has {len(clip)} frames, not one vector: compare by frames "
                    f"with --frames (FAD, KAD), or average them first."
                )
        return given_set(place, np.concatenate(clips), names=names)
    means = np.stack([clip.mean(axis=0) for clip in clips])
    return given_set(
        *(place, means),
        names=names,
        frames=frames,
        rows=np.concatenate(clips),
        row_counts=[len(clip) for clip in clips],
    )


def load_npy(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file."""
    try:
        with path.open("rb") as file:
            return _read(file, path.stat().st_size)
    except (ValueError, OSError, EOFError) as error:
        raise AudioError(
            f"{path} is not a numpy array that can be read: {_one_line(error)}"
        ) from error


def load_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file by name."""
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    arrays[member.filename.removesuffix(".npy")] = _read(file, member.file_size)
    except (
        *(ValueError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        raise AudioError(
            f"{path} is not a numpy archive that can be read: {_one_line(error)}"
        ) from error
    return arrays


def _read(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array in a stream of so many bytes."""
    try:
        version = npy_format.read_magic(file)
        shape, by_column, dtype = _HEADERS[version](file)
    except Exception as error:  # numpy evaluates the header's text: whatever it meets there
        raise ValueError(f"its header cannot be read ({type(error).__name__})") from error
    if dtype.kind not in "fiuU":
        raise ValueError(f"it holds {dtype}, not numbers or text (pickles are never loaded)")
    bytes_ = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or bytes_ > size:
        raise ValueError(f"it promises {bytes_} bytes and holds {size} at most")
    content = file.read(bytes_)
    if len(content) < bytes_:
        raise ValueError("it ends early")
    flat = np.frombuffer(content, dtype=dtype) if bytes_ else np.zeros(0, dtype=dtype)
    return flat.reshape(shape, order="F" if by_column else "C")


def _one_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") + "."
