"""Embeddings in a folder with one ``.npy`` file for each clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from otadtk.audio.find import CACHE_FOLDERS
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.moments import check_statistics_folder, moments_set
from otadtk.embed.formats.npy import load_npy
from otadtk.embed.formats.precomputed import check_vectors, precomputed_clips
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError


def read_array_folder(folder: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """A set of one clip for each file: a vector or, by frames, a row for each frame.

    A folder with just ``mu.npy`` and ``cov.npy`` holds a mean and a covariance.
    """
    everything = sorted(folder.rglob("*.npy"), key=lambda file: file.relative_to(folder).parts)
    # without what other tools keep beside audio: their statistics look like frames
    files = [f for f in everything if CACHE_FOLDERS.isdisjoint(f.relative_to(folder).parts)]
    if not files:
        raise AudioError(
            f"{folder} has no audio, only what other tools have cached: give the folder of one "
            f"model, such as {everything[0].parent}."
        )
    if [file.name for file in files] == ["cov.npy", "mu.npy"]:
        check_statistics_folder(folder, spec, frames)
        covariance, mean = (load_npy(file) for file in files)
        return moments_set(folder, mean, covariance, spec)
    clips = [check_vectors(np.atleast_2d(load_npy(file)), file, spec) for file in files]
    names = [str(file.relative_to(folder).with_suffix("")) for file in files]
    return precomputed_clips(folder, names, clips, frames)
